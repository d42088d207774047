#!/usr/bin/env python3
"""Mutation testing of the crates: which changed operator, value or branch does no test notice.

    python tools/mutants.py sample [CRATE ...]     a fixed random sample of each crate
    python tools/mutants.py changed BASE           every mutant of the lines changed since BASE

cargo-mutants generates the mutants (`cargo install cargo-mutants --locked` with the version that
`tools/mutation/listing.py` names; `--tool` says where it is). All of them are compiled into one
build, and a variable of the environment selects one. Each suite runs once without a mutant, which
shows the mutants it reaches; a mutant meets only those suites, the quickest first, until a test
fails. One that needs 8 times the processor time of the suite counts as caught.

Results are appended to `target/mutants/results.jsonl`, and what is there is not run again:
`--again` forgets the survivors, to run them after tests were added, and `--quick` leaves out suites
of more than 3 s: most mutants are caught without them. Mutants that change nothing
anybody can see are listed with the reason in `tools/mutation/equivalent.txt`. Prints the survivors
and, for each crate, how many were caught. Exit code 1 if a survivor is not explained, 2 if the
tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from mutation.listing import SAMPLE, Mutant, drawn, mutants
from mutation.suites import Suite, cargo, copy_sources, judge, measure, prepare, suites, sync

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "mutants"
QUICK_S = 3.0
EQUIVALENT = ROOT / "tools" / "mutation" / "equivalent.txt"


def equivalent() -> dict[str, str]:
    """Why mutants change nothing, by name."""
    found: dict[str, str] = {}
    name = ""
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            found[name] = f"{found.get(name, '')} {line.strip()}".strip()
        elif line.startswith("  "):
            name += " " + line.strip()
        elif line and not line.startswith("#"):
            name = line
    return found


def changed(tool: str, base: str) -> list[Mutant]:
    """The mutants of the lines that differ from where this branch left `base`."""
    fork = subprocess.run(
        ["git", "-C", str(ROOT), "merge-base", base, "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    with tempfile.NamedTemporaryFile("w", suffix=".diff") as diff:
        git = ["git", "-C", str(ROOT), "diff", fork, "--", "crates"]
        diff.write(subprocess.run(git, capture_output=True, text=True, check=True).stdout)
        diff.flush()
        return mutants(ROOT, tool, list(SAMPLE), "--in-diff", diff.name)


class Results:
    """What came out, in a file that grows."""

    def __init__(self, path: Path, again: bool, quick: bool) -> None:
        self.path, self.longest_s = path, QUICK_S if quick else math.inf
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        entries = [json.loads(line) for line in lines]
        self.by_key = {(e["name"], e["digest"]): e for e in entries}
        # Without `quick` those that only the quick suites have judged are judged anew.
        forgotten = {"survived", "quick"} if again else set() if quick else {"quick"}
        self.by_key = {k: e for k, e in self.by_key.items() if e["verdict"] not in forgotten}

    def of(self, mutant: Mutant) -> dict[str, str] | None:
        """The result of a mutant, if its function is still what it was."""
        return self.by_key.get((mutant.name, mutant.digest))

    def judge(self, mutant: Mutant, ready: list[Suite], number: int) -> None:
        """Run a mutant and note the result."""
        by, cpu_s = judge(ready, number, self.longest_s)
        survived = "survived" if self.longest_s == math.inf else "quick"
        self.add(
            mutant, "hangs" if by.endswith("(time)") else "caught" if by else survived, by, cpu_s
        )

    def add(self, mutant: Mutant, verdict: str, by: str, cpu_s: float) -> None:
        """Note a result."""
        entry = {"name": mutant.name, "digest": mutant.digest, "crate": mutant.crate}
        entry |= {"verdict": verdict, "by": by, "cpu_s": f"{cpu_s:.1f}"}
        self.by_key[mutant.name, mutant.digest] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
        print(f"{verdict:10} {cpu_s:6.1f} s  {mutant.name}  {by}", flush=True)


def baseline(crate: str, ready: list[Suite]) -> list[Suite]:
    """The suites, measured, the quickest first."""
    for suite in ready:
        failed = measure(suite)
        print(
            f"{crate} {suite.name}: {suite.cpu_s:.1f} s, {len(suite.reaches)} reached", flush=True
        )
        if failed:
            print(f"without a mutant {suite.name} fails: {failed}", file=sys.stderr)
            sys.exit(2)
    return sorted(ready, key=lambda suite: suite.cpu_s)


def run_alone(mutant: Mutant, ready: list[Suite], results: Results) -> None:
    """Judge a mutant that needs a build of its own."""
    tree, target = WORK / f"{mutant.crate}.alone", WORK / "build"
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
    built = {suite.name: suite for suite in suites(tree, target, mutant.crate)}
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


def run_crate(crate: str, order: list[Mutant], most: int, results: Results) -> None:
    """Judge the mutants of one crate that have no result yet."""
    if all(results.of(m) for m in wanted(order, results, most)):
        return
    tree, target = WORK / crate, WORK / "build"
    # All of them, those with a result too: so the sources stay the same while tests are added.
    numbered = dict(enumerate(order, start=1))
    left_out = prepare(ROOT, tree, target, numbered)
    print(f"{crate}: {len(order)} mutants, {len(left_out)} need a build of their own", flush=True)
    ready = baseline(crate, suites(tree, target, crate))
    held = [number for number in numbered if number not in left_out]
    # A build of its own takes long: last, and then what replaces those that do not compile.
    for number in [*held, *sorted(left_out), *held]:
        mutant = numbered[number]
        if mutant in wanted(order, results, most) and not results.of(mutant):
            if number in left_out:
                run_alone(mutant, ready, results)
            else:
                results.judge(mutant, ready, number)


def table(chosen: dict[str, list[Mutant]], results: Results) -> int:
    """Print survivors and counts; the number of survivors that nothing explains."""
    reasons, unexplained = equivalent(), 0
    counts: list[str] = []
    for crate, order in chosen.items():
        count = dict.fromkeys(("caught", "hangs", "equivalent", "unexplained", "not run"), 0)
        for mutant in order:
            known = results.of(mutant)
            if known is None:
                count["not run"] += 1
            elif known["verdict"] not in {"survived", "quick"}:
                count[known["verdict"]] += 1
            elif mutant.name in reasons:
                count["equivalent"] += 1
            else:
                count["unexplained"] += 1
                print(f"SURVIVES {mutant.name}")
        unexplained += count["unexplained"]
        judged = len(order) - count["equivalent"] - count["not run"]
        share = 100 * (count["caught"] + count["hangs"]) / max(judged, 1)
        words = ", ".join(f"{n} {what}" for what, n in count.items())
        counts.append(f"{crate}: {len(order)} mutants, {words}; {share:.1f} % of those that count")
    print("\n".join(counts))
    return unexplained


def main() -> int:
    """Judge a sample or a change; 1 if a survivor is not explained."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["sample", "changed"])
    parser.add_argument("names", nargs="*", help="crates of the sample, or the base of the change")
    parser.add_argument("--tool", default=os.environ.get("CARGO_MUTANTS", "cargo-mutants"))
    parser.add_argument("--again", action="store_true", help="run the survivors again")
    parser.add_argument("--quick", action="store_true", help="leave out long suites")
    parser.add_argument("--table", action="store_true", help="run nothing, print what is known")
    options = parser.parse_args()
    results = Results(WORK / "results.jsonl", options.again, options.quick)
    if options.what == "sample":
        crates = options.names or list(SAMPLE)
        found = mutants(ROOT, options.tool, crates)
        orders = {crate: (drawn(found, crate), SAMPLE[crate]) for crate in crates}
    else:
        found = changed(options.tool, *(options.names or ["main"]))
        every = {crate: [m for m in found if m.crate == crate] for crate in SAMPLE}
        orders = {crate: (order, len(order)) for crate, order in every.items() if order}
    if not options.table:
        for crate, (order, most) in orders.items():
            run_crate(crate, order, most, results)
    chosen = {crate: wanted(order, results, most) for crate, (order, most) in orders.items()}
    return 1 if table(chosen, results) else 0


if __name__ == "__main__":
    sys.exit(main())
