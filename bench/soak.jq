# Reads what `streampool replay --json` writes of many passes. For jq, with -L bench and 'include "soak";'.
#
# A *load* is what a pool serves in a pass: a trace, or several in turn (--one-pool). Its figures in a pass are those of the
# pass's last turn, whose round is the pass as a whole. Figures are medians of the starts, where there are several.

def median: map(values) | sort | if length == 0 then null else (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2 end;

# A figure of a result, of one start or the median of several.
def figure(f): if .starts then [.starts[] | f] | median else f end;

def ratio: if .live_peak_bytes == 0 then null else .reserved_peak_bytes / .live_peak_bytes end;
def extents: .statistics.Extents;
def extent_bytes:
    if (extents // 0) == 0 then null else (.turn_reserved_peak_bytes // .reserved_peak_bytes) / extents end;
def calls_ns: .driver_calls_modelled_ns // .total_ns;

# The figures of a pass, from the results of its turns.
def pass_of(load):
    max_by(.turn // 1) as $last
    | {
        load: load,
        allocator: $last.allocator,
        device: $last.device,
        streams: (if $last.turn then null else $last.streams end),
        turns: length,
        pass: $last.pass,
        errors: (map(.errors) | add),
        starts: ($last.starts // [0] | length),
        ratio: ($last | figure(ratio)),
        extents: ($last | figure(extents)),
        extent_bytes: ($last | figure(extent_bytes)),
        growths: (map(figure(.statistics.Growths)) | if any(. == null) then null else add end),
        remapped: (map(figure(.statistics.RemappedExtents)) | if any(. == null) then null else add end),
        calls_ns: (map(figure(calls_ns)) | add)
    };

# A load in turns has the name of its file, and a trace its own.
def load($file): if .turn then $file else .trace end;

# The passes of a file, each load and allocator with its passes in order.
def passes($file):
    group_by([load($file), .allocator, .pass])
    | map(pass_of(.[0] | load($file)));

# The passes of all loads, allocator by allocator: an array for each.
def runs($file): passes($file) | group_by([.load, .allocator]);

# The pass of this number of a run; null: there is none.
def at($pass): map(select(.pass == $pass)) | first;

# ------------------------------------------------------------------------------------------------------------------ tables

def digits($n): if . == null then "-" else
    . * pow(10; $n) | round / pow(10; $n) | tostring
    | if $n == 0 then . else
        (if contains(".") then . else . + "." end) | . + "0" * ($n - (split(".")[1] | length)) end
    end;

def row: "| " + join(" | ") + " |";
def table(titles): ([titles | row, (titles | map("---") | row)] + map(row))[];

# Passes of a run: those of the list that there are, and the last one.
def some($numbers): map(.pass) | max as $last | map(select(. == $last or IN($numbers[])));

def name: [.[0].load, .[0].allocator];
def cells($passes; cell): . as $run | $passes | map(. as $pass | $run | at($pass) | cell);

# What is reserved, by pass: a row for each load and allocator of a mode.
def by_pass:
    (.runs[0] | some([1, 2, 10, 20, 50])) as $passes
    | (if ($passes | index(10)) then 10 else $passes[0] end) as $from | $passes[-1] as $to
    | .runs
    | map(name + [.[0].streams // "-" | tostring] + cells($passes; .ratio | digits(3))
        + [((at($to).ratio / at($from).ratio - 1) * 100 | digits(1)) + " %"])
    | table(["load", "allocator", "streams"] + ($passes | map("pass \(.)")) + ["pass \($to) over \($from)"]);

# A table with a row for each load and allocator, and a column for each mode. Its cells are made of runs.
def by_mode(cell):
    (["load", "allocator"] + map(.given)) as $titles
    | map(.runs) | transpose
    | map((.[0] | name) + map(cell))
    | table($titles);

def extents_of: "\(.extents | digits(0)) × \(.extent_bytes | if . then . / 1048576 else . end | digits(1))";

# From an array of the modes, each with the same runs.
def tables:
    (.[0].runs[0] | map(.pass) | [min, max]) as [$first, $last]
    | "Reserved / live, with \(.[0].given) given back:\n",
      (.[0] | by_pass),
      (if length > 1 then
        "\nReserved / live after pass \($last), by what is given back:\n",
        by_mode(at($last) | .ratio | digits(3))
      else empty end),
      "\nExtents × MiB of each, after pass \($first), after pass \($last):\n",
      by_mode([at($first, $last) | extents_of] | join(", ")),
      "\nIn pass \($last): growths, extents remapped, ms of all calls:\n",
      by_mode(at($last) | "\(.growths | digits(0)), \(.remapped | digits(0)), \(.calls_ns / 1000000 | digits(1))");

# A line for each load, allocator and mode with calls that failed, whose figures are those of a smaller load.
def errors:
    .[] | .given as $given | .runs[] | name as $name | map(.errors) | add | select(. > 0)
    | "FAILED: \($name | join(", ")), with \($given) given back: \(.) calls failed";
