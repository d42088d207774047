#!/usr/bin/env python3
"""Mutation testing of the crates: which changed operator, value or branch does no test notice.

    python tools/mutants.py sample [CRATE ...]     a fixed random sample of each crate
    python tools/mutants.py changed [BASE]         every mutant of the lines changed since BASE
    python tools/mutants.py changed BASE --budget SECONDS      some of them, drawn by SEED

cargo-mutants generates the mutants; `make mutants` installs the version that
`tools/mutation/listing.py` names, and `--tool` says where it is. All of them are compiled into one
build, and a variable of the environment selects one. Each suite runs once without a mutant, which
shows the mutants it reaches; a mutant meets only those suites, the quickest first, until a test
fails. One that needs 8 times the processor time of the suite counts as caught. The bindings have
no tests of their own: Python's run on a build of theirs. Of a sample, the first mutants of every
crate are judged before the others.

Results are kept, and what has one is not run again unless the mutated function has changed, or the
test that caught the mutant: of samples in `tools/mutation/results.jsonl`, from which `make docs`
writes docs/mutants.md; of changes in `target/mutants/changed.jsonl`. `--again` forgets the
survivors, to run them after tests were added, and `--quick` leaves out suites of more than 3 s:
most mutants are caught without them. A budget is of the time after the build. Half of it is spent
on the suites without a mutant, beginning with those that name a changed module; suites of more
than 20 s, and those that were not reached, are left out. What has not met all suites is undecided.
Mutants that change nothing anybody can see are listed with the reason in
`tools/mutation/equivalent.txt`. Prints the survivors and, for each crate, how many were caught.
Exit code 1 if a survivor is not explained, 2 if the tests fail without a mutant, or a crate is in
no sample.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import bounded
from mutation.command import check_names, diff, fork_of
from mutation.listing import SAMPLE, SEED, Mutant, drawn, mutants
from mutation.page import KEPT, is_stale
from mutation.results import AT_FIRST, Origin, Results, reasons
from mutation.suites import (
    ALONE,
    ALONE_TARGET,
    TARGET,
    TREE,
    WORK,
    Suite,
    cargo,
    copy_sources,
    judge,
    measure,
    prepare,
    rebuilt,
    suites,
    sync,
)
from mutation.witness import witness

ROOT = Path(__file__).resolve().parent.parent
QUICK_S, BUDGETED_S = 3.0, 20.0
# Of a suite without a mutant.
MEASURED_S = 3600.0
# Of a crate, whatever the budget is; and at most so many, as all are compiled into one build.
LEAST, MOST = 3, 150
EQUIVALENT = ROOT / "tools" / "mutation" / "equivalent.txt"


def with_lines(text: str) -> str:
    """The files of a diff of which lines have changed.

    cargo-mutants cannot read what git says of others: binary ones, and those that were renamed.
    """
    files = re.split(r"^(?=diff --git )", text, flags=re.MULTILINE)
    return "".join(file for file in files if "\n@@ " in file)


def changed_lines(text: str) -> Counter[str]:
    """Lines that a diff adds to the sources of each crate; exit if no sample has the crate."""
    lines: Counter[str] = Counter()
    crate = ""
    for line in text.splitlines():
        if line.startswith("+++ "):
            source = re.match(r"\+\+\+ b/crates/([^/]+)/src/.*\.rs$", line)
            crate = source[1] if source else ""
        elif crate and line.startswith("+"):
            lines[crate] += 1
    unknown = sorted({*lines} - {*SAMPLE})
    if unknown:
        names = ", ".join(SAMPLE)
        print(
            f"crates/{unknown[0]}: changed, and in no sample: mutants of it would be skipped; add"
            f" it to SAMPLE in tools/mutation/listing.py, which has {names}",
            file=sys.stderr,
        )
        sys.exit(2)
    return lines


def changed(tool: str, base: str) -> list[Mutant]:
    """The mutants of the lines that differ from where this branch left `base`."""
    text = with_lines(diff(fork_of(base, "crates/*/src/*.rs"), "--", "crates/*.rs"))
    lines = changed_lines(text)
    with tempfile.NamedTemporaryFile("w", suffix=".diff") as file:
        file.write(text)
        file.flush()
        mutants_listed = mutants(ROOT, tool, list(SAMPLE), "--in-diff", file.name) if lines else []
    if not lines:
        print(f"no line of the crates differs from {base}")
    for crate, count in lines.items():
        mutant_count = sum(mutant.crate == crate for mutant in mutants_listed)
        print(f"{crate}: {count} changed lines, {mutant_count} mutants", flush=True)
    return mutants_listed


class CrateResults(Results):
    """Results of the mutants of the crates."""

    def __init__(self, path: Path, retry: bool, longest_s: float, origin: Origin) -> None:
        # Those that only some suites have judged are judged anew where more of them run.
        retried_verdicts = (
            {"survived", "quick"} if retry else {"quick"} if longest_s > QUICK_S else set()
        )
        super().__init__(
            path, retried_verdicts, lambda area, test: witness(ROOT, area, test), origin
        )
        self.longest_s = longest_s

    def judge(self, mutant: Mutant, suites_: Iterable[Suite], number: int) -> None:
        """Run a mutant and note the result."""
        verdict, test, cpu_s = judge(suites_, number, self.longest_s)
        self.add(mutant, verdict, test, cpu_s)


def baseline(
    crate: str, suites_: list[Suite], longest_s: float, until: float = math.inf
) -> list[Suite]:
    """The suites, measured, the quickest first; after a time of the clock no more than one."""
    for index, suite in enumerate(suites_):
        if index and time.monotonic() > until:
            suite.cpu_s = math.inf
            print(f"{crate} {suite.name}: left out, as half of the time is over", flush=True)
            continue
        # What survives the others is then undecided: `--quick` says so of suites that it measures.
        failure = measure(suite, BUDGETED_S if longest_s == BUDGETED_S else MEASURED_S)
        is_omitted = failure == "(time)" and suite.cpu_s > longest_s
        print(
            f"{crate} {suite.name}: {suite.cpu_s:.1f} s, {len(suite.reaches)} reached"
            f"{', left out' if is_omitted else ''}",
            flush=True,
        )
        if failure and not is_omitted:
            print(f"without a mutant {suite.name} fails: {failure}", file=sys.stderr)
            sys.exit(2)
    return sorted(suites_, key=lambda suite: suite.cpu_s)


def naming(suites_: list[Suite], mutants_of: list[Mutant]) -> list[Suite]:
    """The suites, those first that name the files of the mutants most often."""
    stems = {Path(mutant.file).stem for mutant in mutants_of} - {"mod", "lib"}

    def rank(suite: Suite) -> tuple[int, str]:
        words = Counter(re.findall(r"[a-z0-9]+", f"{suite.name} {suite.text()}"))
        return -sum(words[word] for stem in stems for word in stem.split("_")), suite.name

    return sorted(suites_, key=rank)


def run_alone(mutant: Mutant, suites_: list[Suite], results: CrateResults) -> None:
    """Judge a mutant that needs a build of its own."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        copy_sources(ROOT, source)
        path = source / mutant.file
        text = path.read_text(encoding="utf-8")
        first, last = mutant.span
        path.write_text(text[:first] + mutant.replacement + text[last:], encoding="utf-8")
        sync(source, ALONE)
    compiles, _ = cargo(ALONE, ALONE_TARGET, "check", "-p", mutant.crate, "--lib")
    if not compiles:
        results.add(mutant, "unviable", "", 0)
        return
    results.judge(mutant, rebuilt(suites_, ROOT, ALONE, ALONE_TARGET), 0)


def is_viable(mutant: Mutant, results: Results) -> bool:
    """Whether it compiles, as far as that is known."""
    entry = results.of(mutant)
    return entry is None or entry["verdict"] != "unviable"


def wanted(order: list[Mutant], results: Results, limit: int) -> list[Mutant]:
    """The first `limit` of the order that compile, as far as that is known."""
    return [mutant for mutant in order if is_viable(mutant, results)][:limit]


class Orders:
    """The mutants of each crate in the order in which they are judged, all in one build."""

    def __init__(self, orders: Mapping[str, list[Mutant]], results: CrateResults) -> None:
        self.orders = orders
        self.results = results
        # Those with a result too: so the sources stay the same while tests are added.
        self.numbered = dict(enumerate(itertools.chain(*orders.values()), start=1))
        self.alone: set[int] = set()
        self.built: dict[str, list[Suite]] = {}
        self.measured: dict[str, list[Suite]] = {}

    def build(self, crate: str) -> None:
        """Build all mutants, and the suites of a crate."""
        if not self.built:
            self.alone = prepare(ROOT, TREE, TARGET, [*self.numbered.items()])
            count = f"{len(self.numbered)} mutants, {len(self.alone)}"
            print(f"{count} need a build of their own", flush=True)
        if crate not in self.built:
            self.built[crate] = suites(ROOT, TREE, TARGET, crate)

    def suites(self, crate: str, until: float) -> list[Suite]:
        """The suites of a crate, measured."""
        if crate not in self.measured:
            suites_ = naming(self.built[crate], self.orders[crate])
            self.measured[crate] = baseline(crate, suites_, self.results.longest_s, until)
        return self.measured[crate]

    def is_judged(self, crate: str, limit: int) -> bool:
        """Whether the first `limit` of a crate that compile have a result."""
        return all(map(self.results.of, wanted(self.orders[crate], self.results, limit)))

    def judge(self, crate: str, limit: int, budget_s: float = math.inf) -> None:
        """Judge the first `limit` of a crate that compile and have no result, or some of them."""
        results, order = self.results, self.orders[crate]
        if self.is_judged(crate, limit):
            return
        self.build(crate)
        start = time.monotonic()
        suites_ = self.suites(crate, start + budget_s / 2)
        numbers = [number for number, mutant in self.numbered.items() if mutant.crate == crate]
        unschemable = [number for number in numbers if number in self.alone]
        schemable = [number for number in numbers if number not in self.alone]
        run = 0
        # A build of its own takes long: last, and then what replaces those that do not compile.
        for number in [*schemable, *unschemable, *schemable]:
            mutant = self.numbered[number]
            if mutant in wanted(order, results, limit) and not results.of(mutant):
                if time.monotonic() > start + budget_s and (run >= LEAST or number in self.alone):
                    continue
                run += 1
                if number in self.alone:
                    run_alone(mutant, suites_, results)
                else:
                    results.judge(mutant, suites_, number)

    def judge_within(self, budget_s: float) -> None:
        """Judge mutants of each crate for its share of the time, builds not counted."""
        crates = [*self.orders]
        for index, crate in enumerate(crates):
            order = self.orders[crate]
            share = len(order) / sum(len(self.orders[crate_left]) for crate_left in crates[index:])
            if not self.is_judged(crate, len(order)):
                self.build(crate)
            start = time.monotonic()
            self.judge(crate, len(order), share * budget_s)
            budget_s = max(0.0, budget_s - (time.monotonic() - start))
            judged = sum(self.results.of(mutant) is not None for mutant in order)
            summary = f"{judged} of {len(order)} mutants judged, drawn by seed {SEED}"
            print(f"{crate}: {summary}", flush=True)


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """What is asked for; exit if it is nonsense."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["sample", "changed"])
    parser.add_argument("names", nargs="*", help="crates of the sample, or the base of the change")
    parser.add_argument("--tool", default=os.environ.get("CARGO_MUTANTS", "cargo-mutants"))
    parser.add_argument("--again", action="store_true", help="run the survivors again")
    parser.add_argument("--quick", action="store_true", help="leave out long suites")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="of a change: about so long"
    )
    parser.add_argument("--table", action="store_true", help="run nothing, print what is known")
    options = parser.parse_args(arguments)
    check_names(parser, options, SAMPLE)
    return options


def sample(options: argparse.Namespace, longest_s: float) -> int:
    """Judge a sample; the number of survivors that nothing explains."""
    origin = Origin.of(ROOT) if options.table else Origin.of_committed(ROOT)
    results = CrateResults(KEPT, options.again, longest_s, origin)
    results.forget(is_stale)
    crates = options.names or [*SAMPLE]
    candidates = mutants(ROOT, options.tool, crates)
    orders = {crate: drawn(candidates, crate) for crate in crates}
    if not options.table:
        batch = Orders(orders, results)
        for first in (AT_FIRST, max(SAMPLE.values())):
            for crate in crates:
                batch.judge(crate, min(first, SAMPLE[crate]))
    selection = {crate: wanted(orders[crate], results, SAMPLE[crate]) for crate in crates}
    if not options.table:
        # With those that do not compile, or they would be compiled again.
        unviable = {c: [m for m in orders[c] if not is_viable(m, results)] for c in crates}
        results.tidy({crate: [*selection[crate], *unviable[crate]] for crate in crates})
    return results.table(selection, reasons(EQUIVALENT))


def change(options: argparse.Namespace, longest_s: float) -> int:
    """Judge a change; the number of survivors that nothing explains."""
    results = CrateResults(WORK / "changed.jsonl", options.again, longest_s, Origin.of(ROOT))
    candidates = changed(options.tool, *(options.names or ["main"]))
    orders = {crate: [m for m in candidates if m.crate == crate] for crate in SAMPLE}
    orders = {crate: order for crate, order in orders.items() if order}
    if options.budget and not options.table:
        ranked_orders = {
            crate: sorted(order, key=lambda m: m.rank) for crate, order in orders.items()
        }
        batch = Orders({crate: order[:MOST] for crate, order in ranked_orders.items()}, results)
        batch.judge_within(options.budget)
    elif not options.table:
        batch = Orders(orders, results)
        for crate, order in orders.items():
            batch.judge(crate, len(order))
    selection = {crate: wanted(order, results, len(order)) for crate, order in orders.items()}
    return results.table(selection, reasons(EQUIVALENT))


def main() -> int:
    """Judge a sample or a change; 1 if a survivor is not explained."""
    options = options_of()
    longest_s = QUICK_S if options.quick else BUDGETED_S if options.budget else math.inf
    judge_all = sample if options.what == "sample" else change
    return 1 if judge_all(options, longest_s) else 0


if __name__ == "__main__":
    sys.exit(bounded.interruptible(main, "what is judged is kept, and the same command goes on"))
