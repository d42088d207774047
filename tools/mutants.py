#!/usr/bin/env python3
"""Mutation testing of the crates: which changed operator, value or branch does no test notice.

    python tools/mutants.py sample [CRATE ...]     a fixed random sample of each crate
    python tools/mutants.py changed BASE           every mutant of the lines changed since BASE
    python tools/mutants.py changed BASE --budget SECONDS      some of them, drawn by SEED

cargo-mutants generates the mutants; `make mutants` installs the version that
`tools/mutation/listing.py` names, and `--tool` says where it is. All of them are compiled into one
build, and a variable of the environment selects one. Each suite runs once without a mutant, which
shows the mutants it reaches; a mutant meets only those suites, the quickest first, until a test
fails. One that needs 8 times the processor time of the suite counts as caught. The bindings have
no tests of their own: Python's run on a build of theirs.

Results are kept, and what has one is not run again unless the mutated function has changed, or the
test that caught the mutant: of samples in `tools/mutation/results.jsonl`, from which `make docs`
writes docs/mutants.md; of changes in `target/mutants/changed.jsonl`. `--again` forgets the
survivors, to run them after tests were added, and `--quick` leaves out suites of more than 3 s:
most mutants are caught without them. With a budget, suites of more than 20 s are left out, too.
What has not met all suites is undecided. Mutants that change nothing
anybody can see are listed with the reason in `tools/mutation/equivalent.txt`. Prints the survivors
and, for each crate, how many were caught. Exit code 1 if a survivor is not explained, 2 if the
tests fail without a mutant, or a crate is in no sample.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from mutation.listing import SAMPLE, SEED, Mutant, drawn, mutants
from mutation.page import KEPT, is_stale
from mutation.results import Origin, Results, reasons
from mutation.suites import Suite, cargo, copy_sources, judge, measure, prepare, suites, sync
from mutation.witness import witness

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "mutants"
QUICK_S, BUDGETED_S = 3.0, 20.0
# Of a crate, whatever the budget is; and at most so many, as all are compiled into one build.
LEAST, MOST = 3, 150
EQUIVALENT = ROOT / "tools" / "mutation" / "equivalent.txt"


def git(*words: str) -> str:
    """What git says; exit if it fails."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"git {' '.join(words)}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    return done.stdout


def changed_lines(diff: str) -> Counter[str]:
    """Lines that a diff adds to the sources of each crate; exit if no sample has the crate."""
    lines: Counter[str] = Counter()
    crate = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            source = re.match(r"\+\+\+ b/crates/([^/]+)/src/.*\.rs$", line)
            crate = source[1] if source else ""
        elif crate and line.startswith("+"):
            lines[crate] += 1
    unknown = sorted({*lines} - {*SAMPLE})
    if unknown:
        known = ", ".join(SAMPLE)
        print(
            f"crates/{unknown[0]}: changed, and in no sample: mutants of it would be skipped; add"
            f" it to SAMPLE in tools/mutation/listing.py, which has {known}",
            file=sys.stderr,
        )
        sys.exit(2)
    return lines


def changed(tool: str, base: str) -> list[Mutant]:
    """The mutants of the lines that differ from where this branch left `base`."""
    diff = git("diff", git("merge-base", base, "HEAD").strip(), "--", "crates")
    lines = changed_lines(diff)
    with tempfile.NamedTemporaryFile("w", suffix=".diff") as file:
        file.write(diff)
        file.flush()
        found = mutants(ROOT, tool, list(SAMPLE), "--in-diff", file.name) if lines else []
    for crate, count in lines.items():
        made = sum(mutant.crate == crate for mutant in found)
        print(f"{crate}: {count} changed lines, {made} mutants", flush=True)
    return found


class CrateResults(Results):
    """Results of the mutants of the crates."""

    def __init__(self, path: Path, again: bool, longest_s: float, origin: Origin) -> None:
        # Those that only some suites have judged are judged anew where more of them run.
        forgotten = {"survived", "quick"} if again else {"quick"} if longest_s > QUICK_S else set()
        super().__init__(path, forgotten, lambda area, by: witness(ROOT, area, by), origin)
        self.longest_s = longest_s

    def judge(self, mutant: Mutant, ready: list[Suite], number: int) -> None:
        """Run a mutant and note the result."""
        verdict, by, cpu_s = judge(ready, number, self.longest_s)
        self.add(mutant, verdict, by, cpu_s)


def baseline(crate: str, ready: list[Suite], longest_s: float) -> list[Suite]:
    """The suites, measured, the quickest first."""
    for suite in ready:
        # What survives the others is then undecided: `--quick` says so of suites that it measures.
        failed = measure(suite, longest_s if longest_s > QUICK_S else 3600)
        left_out = failed == "(time)" and suite.cpu_s > longest_s
        print(
            f"{crate} {suite.name}: {suite.cpu_s:.1f} s, {len(suite.reaches)} reached"
            f"{', left out' if left_out else ''}",
            flush=True,
        )
        if failed and not left_out:
            print(f"without a mutant {suite.name} fails: {failed}", file=sys.stderr)
            sys.exit(2)
    return sorted(ready, key=lambda suite: suite.cpu_s)


def tree_and_target(name: str) -> tuple[Path, Path]:
    """Folders of some sources and of their build.

    If builds shared a folder, cargo would take a library built from other sources for theirs.
    """
    return WORK / name, WORK / f"{name}.build"


def run_alone(mutant: Mutant, ready: list[Suite], results: CrateResults) -> None:
    """Judge a mutant that needs a build of its own."""
    tree, target = tree_and_target(f"{mutant.crate}.alone")
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        copy_sources(ROOT, fresh)
        path = fresh / mutant.file
        text = path.read_text(encoding="utf-8")
        first, last = mutant.span
        path.write_text(text[:first] + mutant.replacement + text[last:], encoding="utf-8")
        sync(fresh, tree)
    compiles, _ = cargo(tree, target, "check", "-p", mutant.crate, "--lib")
    if not compiles:
        results.add(mutant, "unviable", "", 0)
        return
    built = {suite.name: suite for suite in suites(ROOT, tree, target, mutant.crate)}
    order = [built[suite.name] for suite in ready]
    for suite, known in zip(order, ready, strict=True):
        suite.cpu_s, suite.reaches = known.cpu_s, frozenset([0])
    results.judge(mutant, order, 0)


def wanted(order: list[Mutant], results: Results, most: int) -> list[Mutant]:
    """The first `most` of the order that compile, as far as that is known."""

    def viable(mutant: Mutant) -> bool:
        known = results.of(mutant)
        return known is None or known["verdict"] != "unviable"

    return [mutant for mutant in order if viable(mutant)][:most]


def run_crate(
    crate: str, order: list[Mutant], most: int, results: CrateResults, until: float = math.inf
) -> None:
    """Judge the mutants of one crate that have no result yet, until a time of the clock."""
    if all(results.of(m) for m in wanted(order, results, most)):
        return
    tree, target = tree_and_target(crate)
    # All of them, those with a result too: so the sources stay the same while tests are added.
    numbered = dict(enumerate(order, start=1))
    left_out = prepare(ROOT, tree, target, [*numbered.items()])
    print(f"{crate}: {len(order)} mutants, {len(left_out)} need a build of their own", flush=True)
    ready = baseline(crate, suites(ROOT, tree, target, crate), results.longest_s)
    held = [number for number in numbered if number not in left_out]
    run = 0
    # A build of its own takes long: last, and then what replaces those that do not compile.
    for number in [*held, *sorted(left_out), *held]:
        mutant = numbered[number]
        if mutant in wanted(order, results, most) and not results.of(mutant):
            if time.monotonic() > until and run >= LEAST:
                return
            run += 1
            if number in left_out:
                run_alone(mutant, ready, results)
            else:
                results.judge(mutant, ready, number)


def within(budget_s: float, orders: dict[str, list[Mutant]], results: CrateResults) -> None:
    """Judge mutants of each crate in the order of the draw, for its share of the time."""
    until = time.monotonic() + budget_s
    for at, (crate, order) in enumerate(orders.items()):
        share = len(order) / sum(map(len, [*orders.values()][at:]))
        now = time.monotonic()
        most = order[:MOST]
        run_crate(crate, most, len(most), results, now + share * (until - now))
        judged = sum(results.of(mutant) is not None for mutant in order)
        print(f"{crate}: {judged} of {len(order)} mutants judged, drawn by seed {SEED}", flush=True)


def main() -> int:
    """Judge a sample or a change; 1 if a survivor is not explained."""
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
    options = parser.parse_args()
    longest_s = QUICK_S if options.quick else BUDGETED_S if options.budget else math.inf
    known = reasons(EQUIVALENT)
    if options.what == "sample":
        origin = Origin.of(ROOT) if options.table else Origin.of_committed(ROOT)
        results = CrateResults(KEPT, options.again, longest_s, origin)
        results.forget(is_stale)
        crates = options.names or list(SAMPLE)
        found = mutants(ROOT, options.tool, crates)
        orders = {crate: (drawn(found, crate), SAMPLE[crate]) for crate in crates}
        if not options.table:
            for crate, (order, most) in orders.items():
                run_crate(crate, order, most, results)
        chosen = {crate: wanted(order, results, most) for crate, (order, most) in orders.items()}
        if not options.table:
            results.tidy(chosen)
        return 1 if results.table(chosen, known) else 0
    results = CrateResults(WORK / "changed.jsonl", options.again, longest_s, Origin.of(ROOT))
    found = changed(options.tool, *(options.names or ["main"]))
    every = {crate: [m for m in found if m.crate == crate] for crate in SAMPLE}
    every = {crate: order for crate, order in every.items() if order}
    if options.budget:
        every = {crate: sorted(order, key=lambda m: m.rank) for crate, order in every.items()}
        within(options.budget, every, results)
    elif not options.table:
        for crate, order in every.items():
            run_crate(crate, order, len(order), results)
    chosen = {crate: wanted(order, results, len(order)) for crate, order in every.items()}
    return 1 if results.table(chosen, known) else 0


if __name__ == "__main__":
    sys.exit(main())
