"""import_script_test.py PROGRAM SCRIPT TRACE_H SNAPSHOTS: what src/cli/import/import.py makes of recordings, and what it refuses.

Whole histories are drawn, cut at both ends and torn, and become traces that `streampool replay` takes. Recordings are cut
at each byte, or have one changed, and give a reason or a trace. And files that no PyTorch writes are refused: pickles that
run code, entries that lack something, and what is made to take time or memory.
"""
import gzip
import importlib.util
import json
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SCRIPT, TRACE_H, SNAPSHOTS = sys.argv[1:5]

spec = importlib.util.spec_from_file_location("script", SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
script.limit_memory = lambda most: None  # this process reads more than one file, and starts programs
NO_LIMIT = resource.getrlimit(resource.RLIMIT_AS)

with open(TRACE_H) as header:
    FORMS = {word: (pointer, size) for word, pointer, size in
             re.findall(r'X\(\w+, "([a-z -]+)", ([A-Z]+), ([A-Z]+), [A-Z]+\)', header.read())}


def imported(data, name="", device="", of_segments="", strict=False):
    """The lines of the trace behind its header, and the repairs."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        mend = script.Mend(strict)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, NO_LIMIT[1]))
            script.read_file(file.name, name, device, of_segments, FORMS, mend)
        except MemoryError:
            raise script.Refusal("out of memory") from None
        finally:
            resource.setrlimit(resource.RLIMIT_AS, NO_LIMIT)
    return "".join(mend.lines()), mend.summary()


def snapshot_file(name):
    with open(os.path.join(SNAPSHOTS, name), "rb") as file:
        return file.read()


def run(*arguments, **settings):
    return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, data=b""):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def assert_reason(self, data, reason, **options):
        with self.assertRaises(script.Refusal) as refused:
            imported(data, **options)
        self.assertEqual(str(refused.exception), reason)

    def assert_whole(self, trace):
        """The invariants of a trace: what is freed is alive and has its size, and what is allocated is not alive."""
        header, *lines = trace.splitlines()
        self.assertEqual(header, script.HEADER)
        alive = {}
        for line in lines:
            _, time, action, pointer, size, _ = line.split(",")
            self.assertTrue(0 <= int(time) < 1 << 64)
            if action == "allocate" and pointer != "0x0":
                self.assertNotIn(pointer, alive)
                alive[pointer] = size
            elif action.startswith("free") and pointer != "0x0":
                self.assertEqual(alive.pop(pointer), size)
        self.assertTrue(lines)


# ------------------------------------------------------------------------------------------------------ drawn histories


def drawn_history(draw):
    """Operations of a program from its start to its end: (action, pointer, size, stream, time)."""
    history, alive, time = [], {}, draw.randrange(1000)
    for _ in range(draw.randrange(1, 60)):
        time += draw.randrange(20)
        pointer = 512 * draw.randrange(1, 12)
        size, stream = draw.choice((1, 8, 300, 1 << 20)), draw.randrange(3)
        if pointer in alive:
            history.append(("free", pointer, alive.pop(pointer), draw.randrange(3), time))
        else:
            alive[pointer] = size
            history.append(("allocate", pointer, size, stream, time))
    return history, alive


def torn(draw, history):
    """What is left of it: the beginning and the end are lost, and at times some of the middle."""
    begin = draw.randrange(len(history))
    end = draw.randrange(begin, len(history)) + 1
    lost = draw.choice((0, 0, 0.2))
    return [operation for operation in history[begin:end] if draw.random() >= lost]


def as_snapshot(draw, operations, alive):
    words = {"allocate": "alloc", "free": "free_requested"}
    entries = [{"action": words[action], "addr": pointer, "size": size, "stream": stream, "time_us": time}
               for action, pointer, size, stream, time in operations]
    blocks = [{"address": pointer, "size": 512, "requested_size": size, "state": "active_allocated"}
              for pointer, size in alive.items()]
    root = {"segments": [{"device": 0, "address": 512, "stream": 0, "blocks": blocks}], "device_traces": [entries]}
    return json.dumps(root).encode() if draw.random() < 0.5 else pickle.dumps(root, draw.randrange(pickle.HIGHEST_PROTOCOL + 1))


def as_log(draw, operations):
    lines = [f"7,{time},{action},{pointer:#x},{size},{stream}\n" for action, pointer, size, stream, time in operations]
    text = (script.HEADER + "\n" if draw.random() < 0.5 else "") + "".join(lines)
    return text[:len(text) - draw.choice((0, 0, draw.randrange(20)))].encode()


class Drawn(Case):
    def test_a_history_that_was_torn_becomes_a_trace_that_is_replayed(self):
        draw = random.Random(1)
        traces = []
        for _ in range(300):
            history, alive = drawn_history(draw)
            operations = torn(draw, history)
            data = as_log(draw, operations) if draw.random() < 0.4 else as_snapshot(draw, operations, alive)
            try:
                trace, _ = imported(data)
            except script.Refusal as refusal:
                self.assertRegex(str(refusal), "there is no operation in it|no device has a history")
                continue
            self.assert_whole(trace)
            self.assertEqual(imported(trace.encode()), (trace, ""))
            traces.append(self.file(f"{len(traces)}.csv", trace.encode()))
        self.assertGreater(len(traces), 200)
        replayed = run("replay", "--device", "sim", "--allocator", "pool", *traces)
        self.assertEqual((replayed.returncode, replayed.stderr), (0, b""))

    def test_a_whole_history_stays_as_it_is(self):
        draw = random.Random(2)
        for _ in range(100):
            history, alive = drawn_history(draw)
            trace, repairs = imported(as_snapshot(draw, history, alive))
            self.assertEqual(repairs, "")
            begin = history[0][4]
            self.assertEqual(trace.splitlines()[1:], [f"0,{time - begin},{action},{pointer:#x},{size},{stream:#x}"
                                                      for action, pointer, size, stream, time in history])

    def test_what_is_left_of_a_history_is_in_the_trace_in_its_order(self):
        draw = random.Random(3)
        for _ in range(100):
            history, _ = drawn_history(draw)
            operations = torn(draw, history)
            if not operations:
                continue
            trace, _ = imported(as_snapshot(draw, operations, {}))
            lines = iter(re.findall("(allocate|free),(0x[0-9a-f]+)", trace))
            for action, pointer, *_ in operations:
                self.assertIn((action, hex(pointer)), lines)


# --------------------------------------------------------------------------------------------------------------- times


class Times(Case):
    def test_a_time_is_microseconds_seconds_with_a_point_or_one_of_a_clock(self):
        for text, time in (("164", 164), ("0.000001", 1), ("7.5", 7500000), ("00:00:00.25", 250000),
                           ("23:59:60:000001", 86400000001), ("18446744073709.551615", (1 << 64) - 1)):
            self.assertEqual(script.microseconds(text), time)
        for text in "1.", ".5", "1.5.5", "1.5x", "-1.5", "1.5e9", "1:2", "1:2.5", "24:00:00.0", "00:60:00.0", "00:00:61.0", "":
            self.assertIsNone(script.microseconds(text))

    def test_any_seconds_are_read_to_the_microsecond(self):
        draw = random.Random(4)
        for _ in range(2000):
            seconds, digits = draw.randrange(1 << 43), "".join(draw.choice("0123456789") for _ in range(draw.randrange(1, 13)))
            self.assertEqual(script.microseconds(f"{seconds}.{digits}"), seconds * 1000000 + int((digits + "00000")[:6]))


# -------------------------------------------------------------------------------------------------------------- damage


class Damage(Case):
    LITTLE = "little_0.pickle", "little_2.pickle", "little_4.pickle", "little.json"
    LOG = (script.HEADER + "\n1,10:23:45.678901,allocate,0x100,10,0x0\n1,10:23:45:678901,\"free\",0x100,11,0\n"
           "2,5,free,0x200,7,(nil)\n2,6,allocate failure,(nil),9,0\n2,7,allocate,0x300,9,0\n2,7,allocate,0x300,9,0\n").encode()

    def is_read(self, data):
        """True for a trace, which is whole; False for a reason."""
        try:
            trace, _ = imported(data)
        except script.Refusal as refusal:
            self.assertTrue(str(refusal))
            return False
        self.assert_whole(trace)
        return True

    def assert_changes_are_read_or_refused(self, data, *changes):
        for change in changes:
            for i in range(len(data)):
                self.is_read(data[:i] + bytes((data[i] ^ change,)) + data[i + 1:])

    def test_a_snapshot_that_is_cut_anywhere_is_refused(self):
        for data in [snapshot_file(name) for name in self.LITTLE] + [gzip.compress(snapshot_file("little_4.pickle"))]:
            self.assertTrue(self.is_read(data))
            self.assertFalse(any(self.is_read(data[:size]) for size in range(len(data))))

    def test_a_changed_byte_of_a_snapshot_gives_a_reason_or_a_trace(self):
        for name in self.LITTLE:
            self.assert_changes_are_read_or_refused(snapshot_file(name), 0x01, 0xff)
        self.assert_changes_are_read_or_refused(gzip.compress(snapshot_file("little_4.pickle")), 0x10)

    def test_a_log_that_is_cut_anywhere_behind_an_operation_is_read(self):
        first = self.LOG.index(b"\n", len(script.HEADER) + 1)
        self.assertTrue(all(self.is_read(self.LOG[:size]) for size in range(first, len(self.LOG) + 1)))

    def test_a_changed_byte_of_a_log_gives_a_reason_or_a_trace(self):
        self.assert_changes_are_read_or_refused(self.LOG, 0x01, 0x10)

    def test_a_gzip_stream_that_is_no_whole_one_says_so(self):
        data = gzip.compress(b"x" * 1000)
        self.assert_reason(data[:20], "the gzip stream is cut off")
        self.assert_reason(data + b"junk", "the gzip stream is corrupt: Not a gzipped file (b'ju')")


# ----------------------------------------------------------------------------------------------------- what is refused

RUNS = "it would run code or build an object, and nothing of that is done here"
PROTO = b"\x80\4"
PICKLES = (
    (b"\x80\2cos\nsystem\n.", "byte 2: GLOBAL: " + RUNS),
    (PROTO + b"\x8c\2os\x8c\6system\x93.", "byte 14: STACK_GLOBAL: " + RUNS),
    (PROTO + b"N)R.", "byte 4: REDUCE: " + RUNS),
    (PROTO + b"]}b.", "byte 4: BUILD: " + RUNS),
    (PROTO + b"(ios\nsystem\n.", "byte 3: INST: " + RUNS),
    (PROTO + b"(No.", "byte 4: OBJ: " + RUNS),
    (PROTO + b"N)\x81.", "byte 4: NEWOBJ: " + RUNS),
    (PROTO + b"N)}\x92.", "byte 5: NEWOBJ_EX: " + RUNS),
    (PROTO + b"\x82\1.", "byte 2: EXT1: " + RUNS),
    (PROTO + b"\x83\1\1.", "byte 2: EXT2: " + RUNS),
    (PROTO + b"\x84\1\1\1\1.", "byte 2: EXT4: " + RUNS),
    (PROTO + b"P1\n.", "byte 2: PERSID: " + RUNS),
    (PROTO + b"NQ.", "byte 3: BINPERSID: " + RUNS),
    (PROTO + b"\xff.", "byte 2: 0xff: this is no opcode of a pickle"),
    (PROTO + b"}", "byte 3: the file is cut off"),
    (PROTO + b"}.}", "byte 4: something stands behind the pickle"),
    (PROTO + b"\x8d\0\0\0\0\0\0\0\x10x", "byte 2: BINUNICODE8: the file is cut off"),
    (PROTO + b"]K\1a.", "there is no list 'device_traces' in it: is it a snapshot of PyTorch's?"),
)
# Of these Python says what is wrong, in words that change from version to version.
NO_PICKLES = {
    "a later protocol": b"\x80\6N.",
    "a buffer that is elsewhere": PROTO + b"\x97.",
    "a stop with an empty stack": PROTO + b".",
    "a stop on a mark": PROTO + b"(.",
    "a pop of nothing": PROTO + b"0.",
    "a pop without a mark": PROTO + b"N1.",
    "a get of nothing": PROTO + b"Nh\0.",
    "a put of no number": b"(lp-1\n.",
    "an append to a number": PROTO + b"K\1Na.",
    "an append to nothing": PROTO + b"Na.",
    "appends to nothing": PROTO + b"(Ne.",
    "a key of a list": PROTO + b"]\x8c\4sizeNs.",
    "a key without a value": PROTO + b"}(Nu.",
    "a key that is a dictionary": PROTO + b"}\x94h\0Ns.",
    "a tuple of too few": PROTO + b"N\x86.",
    "a negative length": PROTO + b"\x8b\xff\xff\xff\xff.",
    "an int that is none": b"(lI12x\n.",
    "a string without quotes": b"(lSabc\n.",
}
JSONS = {
    "no value": "[nul]", "no number": "[-]", "a comma too many": "[1,]", "a comma too few": "[1 2]", "the wrong bracket": "[1}",
    "a key that is no text": "{1:2}", "no colon": '{"a" 2}', "a line in a text": '["a\nb"]', "two values": "{} {}",
    "brackets alone": "[" * 1000000,
}


def of_entries(*entries, segments=()):
    return json.dumps({"segments": list(segments), "device_traces": [list(entries)]}).encode()


def of_segments(*segments):
    return of_entries({"action": "snapshot"}, segments=segments)


ALLOC, OOM = {"action": "alloc", "addr": 8, "size": 8, "stream": 0}, {"action": "oom", "size": 8, "stream": 0}
PLACED = {"device": 0, "stream": 0, "address": 4096}
NUMBER = "is no whole number from 0 to 2^64 - 1"
ENTRIES = (
    (of_entries([]), "device_traces[0][0]: it is no dictionary"),
    (of_entries(None), "device_traces[0][0]: it is no dictionary"),
    (of_entries({}), "device_traces[0][0]: it has no 'action'"),
    (of_entries({"action": "alloc"}), "device_traces[0][0]: it has no 'addr'"),
    (of_entries({**ALLOC, "addr": 0}), "device_traces[0][0]: its 'addr' is 0"),
    (of_entries({"action": "alloc", "addr": 8}), "device_traces[0][0]: it has no 'size'"),
    (of_entries({"action": "snapshot"}, {"action": "oom", "size": 8}), "device_traces[0][1]: it has no 'stream'"),
    (of_entries({"action": "snapshot"}), "there is no operation in it"),
    (b'{"device_traces":[[{"action":"snapshot"}]]}', "there is no list 'segments' in it: is it a snapshot of PyTorch's?"),
    (b'[{}]', "there is no list 'device_traces' in it: is it a snapshot of PyTorch's?"),
    (b'{"device_traces":{}}', "there is no list 'device_traces' in it: is it a snapshot of PyTorch's?"),
    (of_segments(7), "segments[0]: it is no dictionary"),
    (of_segments({}), "segments[0]: it has no 'device'"),
    (of_segments({"device": 1}, {"device": 0}), "segments[1]: it has no 'address'"),
    (of_segments(PLACED), "segments[0]: it has no list 'blocks'"),
    (of_segments({**PLACED, "blocks": [{}]}), "segments[0]: it has no 'size'"),
    (of_segments({**PLACED, "blocks": [7]}), "segments[0]: it is no dictionary"),
    (of_segments({**PLACED, "blocks": [{"size": (1 << 64) - 1}]}), "segments[0]: a block of it lies nowhere"),
    (of_entries({**ALLOC, "size": (1 << 64) - 1}, {**ALLOC, "addr": 16, "size": 1}), "more than 2^64 bytes are alive"),
)
PARTS = "expandable segments are mapped in parts, which are no allocations"


class Refused(Case):
    def test_pickles_that_run_something_and_damaged_ones(self):
        for data, reason in PICKLES:
            with self.subTest(data):
                self.assert_reason(data, reason)

    def test_pickles_in_which_python_finds_a_mistake(self):
        for name, data in NO_PICKLES.items():
            with self.subTest(name), self.assertRaisesRegex(script.Refusal, "^(this is no pickle|byte [0-9]+: [A-Z0-9x]+): "):
                imported(data)

    def test_opcodes_that_python_3_does_not_write_are_read(self):
        data = (b"(dp0\nU\10segments(lsS'device_traces'\n((dT\6\0\0\0actionS\"alloc\"\nsS'addr'\nL18446744073709551615L\n"
                b"sS'size'\nI7\nsS'stream'\nI00\nsS'time_us'\nI01\nsS'x'\n\x8f(K\1\x90sS'y'\n(N\x91sS'z'\nC\1asS'n'\nL-5L\n"
                b"sS'm'\nF1.5\nsS'o'\nI-7\nstp7\n0(g7\nlsN0(N12" b"0.")
        self.assertEqual(imported(data), (script.HEADER + "\n0,0,allocate,0xffffffffffffffff,7,0x0\n", ""))

    def test_what_is_no_json(self):
        for name, text in JSONS.items():
            with self.subTest(name), self.assertRaisesRegex(script.Refusal, "^this is no JSON: "):
                imported(text.encode())
        for text in '{"a": [1', '{"a\\', '{"a": ', "[":
            with self.subTest(text), self.assertRaisesRegex(script.Refusal, "^the file is cut off: "):
                imported(text.encode())

    def test_numbers_of_many_digits_come_to_an_end(self):
        for data in b"(lI" + b"1" * 20000 + b"\na.", b"[" + b"1" * 20000 + b"]", b'{"device_traces":1.' + b"1" * 1000000 + b"}":
            with self.assertRaisesRegex(script.Refusal, "digits|there is no list"):
                imported(data)

    def test_entries_and_segments_that_lack_something(self):
        for data, reason in ENTRIES:
            with self.subTest(data):
                self.assert_reason(data, reason)

    def test_a_number_is_whole_and_has_64_bits(self):
        for bad in -8, 1 << 64, 1.0, float("nan"), float("inf"), "noon", None, [], {}:
            for key in "addr", "size", "stream", "time_us":
                self.assert_reason(of_entries({**ALLOC, key: bad}), f"device_traces[0][0]: its '{key}' {NUMBER}")
            for key in "device", "address", "stream":
                self.assert_reason(of_segments({**PLACED, key: bad}), f"segments[0]: its '{key}' {NUMBER}")

    def test_values_of_any_type_at_any_place_give_a_reason_or_a_trace(self):
        block = {"size": 8, "address": 4096, "requested_size": 7, "state": "active_allocated"}
        root = {"device_traces": [[ALLOC, OOM]], "segments": [{**PLACED, "total_size": 9, "is_expandable": False,
                                                               "blocks": [block]}]}

        def places(value, path=()):
            yield path
            items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for key, inner in items:
                yield from places(inner, path + (key,))

        for path in places(root):
            for bad in None, True, -1, 1.5, "x", [], {}, [[]], [{}], 1 << 70, (), b"x", {7}:
                changed = pickle.loads(pickle.dumps(root)) if path else bad
                inner = changed
                for key in path[:-1]:
                    inner = inner[key]
                if path:
                    inner[path[-1]] = bad
                for of in "", "segments":
                    try:
                        self.assert_whole(imported(pickle.dumps(changed), of_segments=of)[0])
                    except script.Refusal as refusal:
                        self.assertTrue(str(refusal))

    def test_parts_of_expandable_segments_are_no_allocations(self):
        self.assert_reason(of_entries({"action": "segment_map"}), "device_traces[0][0]: " + PARTS, of_segments="segments")
        self.assert_reason(of_segments({**PLACED, "is_expandable": True}), "segments[0]: " + PARTS, of_segments="segments")

    def test_blocks_that_segments_share(self):
        segment = {**PLACED, "blocks": [{"size": 1}] * 10000}
        self.assert_reason(pickle.dumps({"device_traces": [[ALLOC]], "segments": [segment] * 10000}),
                           "segments[1]: its blocks are those of others, too")

    def test_an_entry_that_stands_many_times(self):
        self.assert_reason(PROTO + b"}\x8c\rdevice_traces](](}222222ees.", "the history of device 0 has one entry many times")

    def test_a_list_that_holds_itself_is_no_entry(self):
        data = PROTO + b"}\x8c\rdevice_traces]\x94(h\0h\0es."
        self.assert_reason(data, "several devices have a history, choose by --device-index: 0, 1")
        self.assert_reason(data, "the history of device 0 has one entry many times", device="0")
        self.assert_reason(PROTO + b"}\x8c\rdevice_traces]\x94h\0as.", "device_traces[0][0]: it is no dictionary")


# --------------------------------------------------------------------------------------------------------- the process


class Process(Case):
    def assert_says(self, data, reason):
        path = self.file("recording", data)
        output = self.file("kept", b"old")
        ended = run("import", path, "-o", output)
        self.assertEqual((ended.returncode, ended.stdout), (1, b""))
        self.assertRegex(ended.stderr.decode(), f"^{re.escape(path)}: {reason}\n$")
        self.assertEqual(sorted(os.listdir(self.folder)), ["kept", "recording"])
        with open(output, "rb") as file:
            self.assertEqual(file.read(), b"old")

    def test_a_file_that_takes_many_times_its_size_is_refused(self):
        memory = "this takes far more memory than a file of its size should, or half of the host's"
        self.assert_says(PROTO + b"]" * (4 << 20), memory)
        self.assert_says(PROTO + b"\x8e\0\0\0\0\x10\0\0\0x", f"{memory}|.*cut off")
        self.assert_says(PROTO + b"Nr\xff\xff\xff\xff.", f"{memory}|.*cut off|.*memo.*")

    def test_a_file_that_has_python_crash_is_refused(self):
        self.assert_says(PROTO + b"}N" + b"\x85" * 1000000 + b"Ns.", ".*[a-z].*")

    def test_marks_alone_come_to_an_end(self):
        self.assert_says(PROTO + b"(" * 100000, "byte 100002: the file is cut off")

    def test_a_closed_pipe_ends_it_without_a_word(self):
        path = self.file("log.csv", (script.HEADER + "\n" + "1,1,allocate failure,(nil),8,0\n" * 100000).encode())
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run([PROGRAM, "import", path], stdout=writer, stderr=subprocess.PIPE, restore_signals=True)
        os.close(writer)
        self.assertEqual((ended.returncode, ended.stderr), (-signal.SIGPIPE, b""))

    def test_an_interrupt_leaves_nothing(self):
        for number in signal.SIGINT, signal.SIGTERM:
            pipe = os.path.join(self.folder, "pipe")
            os.mkfifo(pipe)
            process = subprocess.Popen([PROGRAM, "import", pipe, "-o", os.path.join(self.folder, "trace.csv")],
                                       stderr=subprocess.PIPE)
            with open(pipe, "wb"):  # which waits for the script
                process.send_signal(number)
                self.assertEqual((process.wait(), process.stderr.read()), (-number, b""))
            process.stderr.close()
            self.assertEqual(os.listdir(self.folder), ["pipe"])
            os.remove(pipe)

    def test_without_python_it_says_what_is_missing(self):
        ended = run("import", self.file("log.csv"), env={"PATH": self.folder})
        self.assertEqual(ended.returncode, 3)
        self.assertIn(b"python3", ended.stderr)
        self.assertEqual(ended.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
