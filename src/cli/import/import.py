"""Makes a trace of what other programs recorded: a snapshot of PyTorch's memory (torch.cuda.memory._snapshot()), as a
pickle or as JSON, or a log of RMM's. `streampool import` (import.c) runs it as

    python3 -IS import.py PROGRAM INPUT OUTPUT FORMAT DEVICE SEGMENTS STRICT ACTIONS

These are words of that command's options, empty where one wasn't given. OUTPUT only names standard output, which takes
the trace. ACTIONS are those that a trace may have: of each its name, and what stands under Pointer and under Size.

Nothing of a file is run, and reading one has a limit of memory. What can't be a trace is refused with place and reason.
"""
import signal

if signal.getsignal(signal.SIGINT) == signal.default_int_handler:  # else it is to be ignored
    signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)

import collections
import csv
import gc
import gzip
import io
import itertools
import json
import os
import pickle
import pickletools
import re
import resource
import sys
import zlib

HEADER = "Thread,Time,Action,Pointer,Size,Stream"
LIMIT = 1 << 64
ALLOCATE, FAILURE, FREE = "allocate", "allocate failure", "free"
FREES = (FREE, "free unordered")



def allocates(action):
    """True of an allocation, with the word of its place or without."""
    return action == ALLOCATE or action.startswith(ALLOCATE + " ") and not action.startswith(FAILURE)


Operation = collections.namedtuple("Operation", "thread time action pointer size stream")


class Refusal(Exception):
    """Why a file is no trace, and at which line, if it has lines."""

    line = 0


# ------------------------------------------------------------------------------------------------------------ mending

REPAIRS = {  # one of it in words, several of it
    "older": ("allocation from before the beginning", "allocations from before the beginning"),
    "lost free": ("lost free", "lost frees"),
    "lost allocation": ("lost allocation", "lost allocations"),
    "size": ("free with another size", "frees with another size"),
    "unknown": ("entry of an unknown kind left out", "entries of unknown kinds left out"),
    "contradiction": ("block left out that is active at the end though the trace freed it",
                      "blocks left out that are active at the end though the trace freed them"),
    "no header": ("missing header", "missing headers"),
    "header": ("header between the lines", "headers between the lines"),
    "cut line": ("line left out that was cut", "lines left out that were cut"),
}


class Mend:
    """Makes a whole trace of operations that may begin and end in the middle of a run.

    A pointer is unknown until it is first named, then alive or freed:
      free, unknown      it was allocated before the beginning, with the size and stream of its free
      free, freed        it was allocated just before
      free, alive        with another size: that of the allocation counts
      allocation, alive  it was freed just before, on the stream of its allocation
    Each of these is a repair, which is counted, or a refusal if it is to be strict.
    """

    def __init__(self, is_strict):
        self.is_strict = is_strict
        self.older = []   # allocations from before the beginning
        self.rest = []    # all operations behind them
        self.states = {}  # of a pointer: its allocation while it is alive, then None
        self.repairs = dict.fromkeys(REPAIRS, 0)

    def repair(self, repair, reason):
        self.repairs[repair] += 1
        if self.is_strict:
            raise Refusal(reason)

    def add(self, operation):
        _, time, action, pointer, size, _ = operation
        alive = self.states.get(pointer)
        if pointer and allocates(action):
            if alive:
                self.repair("lost free", f"allocation at {pointer:#x}, which is alive")
                self.rest.append(alive._replace(action=FREE, time=time))
            self.states[pointer] = operation
        elif pointer and action in FREES:
            if not alive:
                is_older = pointer not in self.states
                self.repair("older" if is_older else "lost allocation", f"free of {pointer:#x}, which is not alive")
                (self.older if is_older else self.rest).append(operation._replace(action=ALLOCATE))
            elif alive.size != size:
                self.repair("size", f"free of {size} bytes at {pointer:#x}, allocated with {alive.size} bytes")
                operation = operation._replace(size=alive.size)
            self.states[pointer] = None
        self.rest.append(operation)

    def add_alive(self, pointer, size, stream):
        """A block that is alive at the end: if no operation has named it, it is as old as the beginning."""
        if pointer not in self.states:
            self.repair("older", f"the block at {pointer:#x} is active, and the trace does not allocate it")
            self.older.append(Operation(0, 0, ALLOCATE, pointer, size, stream))
            self.states[pointer] = None
        elif not self.states[pointer]:
            self.repair("contradiction", f"the block at {pointer:#x} is active, though the trace freed it")

    def check(self):
        live = 0
        for operation in itertools.chain(self.older, self.rest):
            if allocates(operation.action):
                live += operation.size
            elif operation.action in FREES:
                live -= operation.size
            if live >= LIMIT:
                raise Refusal("more than 2^64 bytes are alive")
        if not self.older and not self.rest:
            raise Refusal("there is no operation in it")

    def lines(self):
        """Those of the trace. Times count from the earliest operation on."""
        begin = min((operation.time for operation in self.rest), default=0)
        yield HEADER + "\n"
        for operations, is_older in ((self.older, True), (self.rest, False)):
            for thread, time, action, pointer, size, stream in operations:
                yield f"{thread},{0 if is_older else time - begin},{action},{pointer:#x},{size},{stream:#x}\n"

    def summary(self):
        return ", ".join(f"{count} {REPAIRS[name][count > 1]}" for name, count in self.repairs.items() if count)


# ---------------------------------------------------------------------------------------------------------- snapshots

PART = "a part"
OF_PROGRAM = {"alloc": ALLOCATE, "free_requested": FREE, "oom": FAILURE}
OF_SEGMENTS = {"segment_alloc": ALLOCATE, "segment_free": FREE, "segment_map": PART, "segment_unmap": PART}
KNOWN = {"free_completed", "snapshot", *OF_PROGRAM, *OF_SEGMENTS}
NO_PARTS = "expandable segments are mapped in parts, which are no allocations"


def is_list(value):
    return isinstance(value, (list, tuple))


def is_number(value):
    return isinstance(value, int) and 0 <= value < LIMIT


def field(entry, key):
    if not isinstance(entry, dict):
        raise Refusal("it is no dictionary")
    if key not in entry:
        raise Refusal(f"it has no '{key}'")
    return entry[key]


def number(entry, key, least=0):
    value = field(entry, key)
    if not is_number(value):
        raise Refusal(f"its '{key}' is no whole number from 0 to 2^64 - 1")
    if value < least:
        raise Refusal(f"its '{key}' is {value}")
    return value


def list_in(root, key):
    if not isinstance(root, dict) or not is_list(root.get(key)):
        raise Refusal(f"there is no list '{key}' in it: is it a snapshot of PyTorch's?")
    return root[key]


def choose_device(histories, wanted):
    """The device that was asked for, or else the only one that has a history."""
    having = [device for device, history in enumerate(histories) if is_list(history) and history]
    if wanted is not None and wanted not in having:
        raise Refusal(f"device {wanted} has no history")
    if not having:
        raise Refusal("no device has a history: was it recorded? (torch.cuda.memory._record_memory_history())")
    if wanted is None and len(having) > 1:
        choices = ", ".join(map(str, having[:32]))
        raise Refusal(f"several devices have a history, choose by --device-index: {choices}")
    return having[0] if wanted is None else wanted


def read_all(name, entries, read_one):
    for index, entry in enumerate(entries):
        try:
            read_one(entry)
        except Refusal as refusal:
            raise Refusal(f"{name}[{index}]: {refusal}") from None


def read_snapshot(root, wanted, of_segments, mend):
    """A snapshot is a dictionary. Under device_traces it has a list for each device, whose entries are what happened, the
    oldest first; a ring buffer holds them, so the beginning may be lost. Under segments stands what there was at the
    end: the memory that PyTorch had of the driver, and the blocks in it."""
    histories = list_in(root, "device_traces")
    device = choose_device(histories, wanted)
    seen = set()  # lists of blocks: a file that is made to take for ever has one in many segments

    def read_entry(entry):
        action = field(entry, "action")
        if not isinstance(action, str) or action not in KNOWN:
            mend.repair("unknown", "its 'action' is unknown")
            return
        meaning = (OF_SEGMENTS if of_segments else OF_PROGRAM).get(action)
        if meaning == PART:
            raise Refusal(NO_PARTS)
        if meaning:
            # In place of an address an "oom" has how much memory was free. Older versions note no times.
            pointer = 0 if action == "oom" else number(entry, "addr", 1)
            size, stream = number(entry, "size"), number(entry, "stream")
            mend.add(Operation(0, number(entry, "time_us") if "time_us" in entry else 0, meaning, pointer, size, stream))

    def read_segment(segment):
        if number(segment, "device") != device:
            return
        address, stream = number(segment, "address", 1), number(segment, "stream")
        if not of_segments:
            read_blocks(segment.get("blocks"), address, stream)
        elif is_number(segment.get("is_expandable")) and segment["is_expandable"]:
            raise Refusal(NO_PARTS)
        else:
            mend.add_alive(address, number(segment, "total_size"), stream)

    def read_blocks(blocks, address, stream):
        """Blocks lie side by side in their segment. Older versions give them no address, or rounded sizes only."""
        if not is_list(blocks):
            raise Refusal("it has no list 'blocks'")
        if id(blocks) in seen:
            raise Refusal("its blocks are those of others, too")
        seen.add(id(blocks))
        for block in blocks:
            size = number(block, "size")
            requested = block["requested_size"] if is_number(block.get("requested_size")) else size
            address = block["address"] if is_number(block.get("address")) else address
            if address == 0 or address + size >= LIMIT:
                raise Refusal("a block of it lies nowhere")
            if block.get("state") == "active_allocated":
                mend.add_alive(address, requested, stream)
            address += size

    if len(set(map(id, histories[device]))) < len(histories[device]):
        raise Refusal(f"the history of device {device} has one entry many times")
    read_all(f"device_traces[{device}]", histories[device], read_entry)
    read_all("segments", list_in(root, "segments"), read_segment)


# ---------------------------------------------------------------------------------------------------- pickles and JSON

RUNS = "it would run code or build an object, and nothing of that is done here"
RUNNERS = "GLOBAL STACK_GLOBAL INST OBJ NEWOBJ NEWOBJ_EX REDUCE BUILD EXT1 EXT2 EXT4 PERSID BINPERSID".split()
CUT_OFF = "the file is cut off"


class DataUnpickler(pickle.Unpickler):
    """Python's own reader, without what makes a pickle a program: it finds no class and no function, so it calls none."""

    def find_class(self, *name):
        raise pickle.UnpicklingError(RUNS)

    persistent_load = find_class


def where_it_fails(data, error):
    """The first opcode that would run something, or can't be read. Python's reader doesn't tell where it failed."""
    stream = io.BytesIO(data)
    begin = 0
    try:
        for opcode, _, at in pickletools.genops(stream):
            if opcode.name in RUNNERS:
                return f"byte {at}: {opcode.name}: {RUNS}"
            begin = stream.tell()
    except Exception as trouble:  # it raises whatever Python's functions for numbers and texts do
        opcode = pickletools.code2op.get(data[begin:begin + 1].decode("latin-1"))
        if begin == len(data):
            return f"byte {begin}: {CUT_OFF}"
        if not opcode:
            return f"byte {begin}: {data[begin]:#04x}: this is no opcode of a pickle"
        return f"byte {begin}: {opcode.name}: {CUT_OFF if stream.tell() == len(data) else trouble}"
    return f"this is no pickle: {error}"


def read_pickle(data):
    stream = io.BytesIO(data)
    try:
        root = DataUnpickler(stream, encoding="latin-1").load()
    except MemoryError:
        raise
    except Exception as error:
        raise Refusal(where_it_fails(data, error)) from None
    if stream.tell() < len(data):
        raise Refusal(f"byte {stream.tell()}: something stands behind the pickle")
    return root


def read_json(data):
    text = data.decode("utf-8", "surrogateescape")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        is_cut = getattr(error, "pos", -1) >= len(text.rstrip()) or str(error).startswith("Unterminated string")
        raise Refusal(f"{CUT_OFF if is_cut else 'this is no JSON'}: {error}") from None


# ---------------------------------------------------------------------------------------------------------- RMM's logs

NEEDED = ("pointer", "size", "action")
DEFAULTS = {"thread": "0", "time": "0", "stream": "0"}  # of the columns that a log may lack
DAY = 24 * 60 * 60 * 1000000
DECIMAL = re.compile("[0-9]+")
POINTER = re.compile(r"\(nil\)|(?:0[xX])?([0-9a-fA-F]+)")
# Times with a fraction: of the day, where a colon stands before it in older versions of RMM, and seconds.
CLOCK = re.compile("([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)[.:]([0-9]+)")
SECONDS = re.compile(r"()()([0-9]+)\.([0-9]+)")


def decimal(text):
    return int(text) if DECIMAL.fullmatch(text) else None


def hexadecimal(text):
    match = POINTER.fullmatch(text)
    return match and int(match.group(1) or "0", 16)


def handle(text):
    """RMM writes a stream as a handle; other recorders number streams in decimal."""
    return hexadecimal(text) if text[:2] in ("0x", "0X", "(n") else decimal(text)


def microseconds(text):
    match = CLOCK.fullmatch(text) or SECONDS.fullmatch(text)
    if not match:
        return decimal(text)
    hours, minutes, seconds, fraction = match.groups()
    return ((int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds)) * 1000000 + int((fraction + "00000")[:6])


PARSERS = {"thread": decimal, "time": microseconds, "pointer": hexadecimal, "size": decimal, "stream": handle}


def split(line):
    """A field may stand in double quotes, in which two quotes are one and a comma is a character as any other."""
    if " " in line or "\t" in line:
        line = re.sub("[ \t]*,[ \t]*", ",", line.strip(" \t"))
    try:
        return next(csv.reader([line], strict=True)) if '"' in line else line.split(",")
    except csv.Error as error:
        raise Refusal(f"the quotes are wrong: {error}") from None


def value_of(column, text, actions):
    if column == "action":
        value = FREE if text == "deallocate" else text if text in actions else None
    else:
        value = PARSERS[column](text)
    if value is not None and (column == "action" or value < LIMIT):
        return value
    shown = re.sub("[^ -~]", "?", text[:40]) + ("..." if len(text) > 40 else "")
    raise Refusal(f"bad {column} '{shown}'" if value is None else f"{column} '{shown}' does not fit in 64 bits")


def operation_of(row, columns, before, actions):
    if len(row) != len(columns):
        raise Refusal(f"expected {len(columns)} fields, found {len(row)}")
    texts = {**DEFAULTS, **dict(zip(columns, row))}
    operation = Operation(*(value_of(column, texts[column], actions) for column in Operation._fields))
    _, time, action, pointer, size, _ = operation
    under_pointer, under_size = actions[action]
    if pointer and under_pointer == "NOTHING":
        raise Refusal(f"'{action}' with the pointer {pointer:#x}")
    if not pointer and under_pointer == "EVENT":
        raise Refusal(f"'{action}' with a null pointer for the event")
    if size and under_size == "NOTHING":
        raise Refusal(f"'{action}' with a size of {size}")
    if size and not pointer and under_pointer == "BLOCK":
        raise Refusal(f"a null pointer with a size of {size}")
    return operation._replace(time=on_its_day(time, before)) if ":" in texts["time"] else operation


def on_its_day(time, before):
    """A clock begins anew at midnight, so a time that is half a day off stands for the day after or before."""
    time += before // DAY * DAY
    if time + DAY // 2 < before:
        return min(time + DAY, LIMIT - 1)
    return time - DAY if time > before + DAY // 2 and time >= DAY else min(time, LIMIT - 1)


class Log:
    """A log need not be whole: a header may be missing, stand once more between the lines, name its columns in another order
    or have further ones, and the first and the last line may be cut."""

    def __init__(self, actions, mend):
        self.actions, self.mend = actions, mend
        self.columns = HEADER.lower().split(",")
        self.time = 0  # of the row before
        self.is_first = True

    def read(self, data):
        for place, line in enumerate(io.BytesIO(data), 1):
            text = line.decode("latin-1").rstrip("\n")
            text = text[:-1] if text.endswith("\r") else text
            if self.is_first and text.startswith("\xef\xbb\xbf"):  # a spreadsheet's mark
                text = text[3:]
            try:
                if len(text) > 512:
                    raise Refusal("line longer than 512 characters")
                if text.strip(" \t"):
                    self.read_row(text, self.is_first or not line.endswith(b"\n"))
                    self.is_first = False
            except Refusal as refusal:
                refusal.line = place
                raise

    def read_row(self, text, may_be_cut):
        operation = None
        try:
            row = split(text)
            if sum(name.lower() in NEEDED for name in row) < 2:
                if self.is_first:
                    self.mend.repair("no header", "the header is missing")
                operation = operation_of(row, self.columns, self.time, self.actions)
        except Refusal as refusal:
            if not may_be_cut:
                raise
            self.mend.repair("cut line", str(refusal))
        else:
            if operation:
                self.time = operation.time
                self.mend.add(operation)
            else:
                self.read_header([name.lower() for name in row])

    def read_header(self, columns):
        if not self.is_first:
            self.mend.repair("header", "a header between the lines")
        for name in HEADER.split(","):
            if columns.count(name.lower()) > 1:
                raise Refusal(f"the header has two columns '{name}'")
            if name.lower() in NEEDED and name.lower() not in columns:
                raise Refusal(f"the header has no column '{name}'")
        self.columns = columns


# ----------------------------------------------------------------------------------------------------------- the file

PICKLE = re.compile(rb"\x80|\([dl]|[}\]][q.(]")  # from protocol 2 on, PROTO; before that, a dictionary or a list
JSON = re.compile(rb"[ \t\r\n]*[{\[]")


def limit_memory(most):
    """Lets this process take so many bytes more, and at most half of the host's memory."""
    page = resource.getpagesize()
    most = min(most, os.sysconf("SC_PHYS_PAGES") * page // 2)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * page
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [limit for limit in (used + most, soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            data = file.read()
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except EOFError:
        raise Refusal("the gzip stream is cut off") from None
    except (OSError, zlib.error) as error:
        raise Refusal(getattr(error, "strerror", None) or f"the gzip stream is corrupt: {error}") from None


def read_file(path, name, device, of_segments, actions, mend):
    data = read_bytes(path)
    limit_memory((64 << 20) + 24 * len(data))  # snapshots take up to 14 times their size
    if not name:
        name = "pickle" if PICKLE.match(data) else "json" if JSON.match(data) else "rmm"
    if name != "rmm":
        root = read_pickle(data) if name == "pickle" else read_json(data)
        read_snapshot(root, int(device) if device else None, bool(of_segments), mend)
    elif device or of_segments:
        raise Refusal("--device-index and --segments are for snapshots, and this is no snapshot")
    else:
        Log(actions, mend).read(data)
    mend.check()


def write(mend, output):
    file = sys.stdout.buffer
    if output.endswith(".gz") and len(output) > 3:
        file = gzip.GzipFile("", "wb", 6, file, 0)
    text = io.TextIOWrapper(file, "ascii", newline="\n")
    text.writelines(mend.lines())
    text.close()
    sys.stdout.close()


def complain(place, reason):
    sys.stderr.buffer.write(os.fsencode(place) + b": " + reason.encode("ascii", "backslashreplace") + b"\n")
    return 1


def main(program, path, output, name, device, of_segments, strict, actions):
    mend = Mend(bool(strict))
    forms = {action: (pointer, size) for action, pointer, size in (form.split(":") for form in actions.split(",")[1:])}
    gc.disable()  # nothing that is read is garbage before the end
    limit_memory(LIMIT)
    try:
        read_file(path, name, device, of_segments, forms, mend)
        write(mend, output)
    except Refusal as refusal:
        return complain(f"{path}:{refusal.line}" if refusal.line else path, str(refusal))
    except MemoryError:
        return complain(path, "this takes far more memory than a file of its size should, or half of the host's")
    except OSError as error:
        return complain(f"{program}: {output}", error.strerror)
    if mend.summary():
        complain(path, mend.summary())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
