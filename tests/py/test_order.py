"""Choices come before results: the check of the pages, and that the files say what is run."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from running import ROOT
from ssdlab.errors import ConfigError
from ssdlab_lab.reproduce import registration
from ssdlab_lab.reproduce.papers import PAPERS
from ssdlab_lab.reproduce.register import STUDIES, constants, plain, text_of

sys.path.insert(0, str(ROOT / "tools"))
import order

NAME = "noc-copyback"


class Checkout:
    """A small repository with choices and a page."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.choices = root / order.REGISTERED / f"{NAME}.json"
        self.page = root / f"docs/papers/{NAME}.md"
        self.page.parent.mkdir(parents=True)
        self.choices.parent.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Someone")
        self.git("config", "user.email", "someone@example.org")
        self.write("README", "a project")

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, name: str, text: str) -> str:
        """Write and commit a file; the commit."""
        (self.root / name).write_text(text, encoding="utf-8")
        return self.commit()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", "a commit")
        return self.git("rev-parse", "--short=12", "HEAD")

    def register(self, text: str = "{}\n") -> None:
        self.choices.write_text(text, encoding="utf-8")

    def publish(self, commit: str | None, digest: str | None = None) -> None:
        """Write the page of runs that were started at a commit."""
        digest = digest or sha256(self.choices.read_bytes()).hexdigest()
        self.page.parent.mkdir(parents=True, exist_ok=True)  # git removes empty folders
        text = f"# A page\n\n{registration.stated(NAME, commit, digest)}\n"
        self.page.write_text(text, encoding="utf-8")

    def wrong(self, **known: str) -> list[str]:
        return order.problems(self.root, known)[0]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_choices_before_results_are_in_order(checkout: Checkout) -> None:
    checkout.register()
    started = checkout.commit()
    checkout.publish(started)
    assert not checkout.wrong()
    checkout.commit()
    assert not checkout.wrong()
    # A page in order must not be listed, nor one that is not there.
    assert checkout.wrong(**{NAME: "why"}) == [
        f"docs/papers/{NAME}.md is in order: remove it from KNOWN"
    ]
    assert checkout.wrong(other="why") == ["KNOWN lists other, which has no page"]


def test_choices_that_enter_with_the_page_are_refused(checkout: Checkout) -> None:
    started = checkout.write("code", "of the runs")
    checkout.register()
    checkout.publish(started)
    (late,) = checkout.wrong()
    assert "its choices entered after its runs were started" in late
    assert late.endswith("and are not committed")
    entered = checkout.commit()[:7]
    (late,) = checkout.wrong()
    assert late.endswith(f"in {entered}, which brings the page")


def test_choices_that_were_changed_after_the_runs_are_refused(checkout: Checkout) -> None:
    checkout.register()
    started = checkout.commit()
    checkout.publish(started)
    checkout.commit()
    checkout.register('{"another": 1}\n')
    (edited,) = checkout.wrong()
    assert "the digest that it names is not that of" in edited
    # The page with the new digest names the old runs.
    checkout.publish(started)
    checkout.commit()
    (late,) = checkout.wrong()
    assert "its choices entered after its runs were started" in late


def test_runs_of_a_changed_or_foreign_checkout_are_refused(checkout: Checkout) -> None:
    checkout.register()
    started = checkout.commit()
    checkout.publish(f"{started}-dirty")
    assert "with changes that nobody can see" in checkout.wrong()[0]
    checkout.git("switch", "-q", "-c", "other")
    foreign = checkout.write("code", "elsewhere")
    checkout.git("switch", "-q", "main")
    checkout.publish(foreign)
    assert checkout.wrong()[0].endswith(f"commit {foreign} of its runs is no ancestor of HEAD")
    checkout.publish("0123456789ab")
    assert "no ancestor of HEAD" in checkout.wrong()[0]
    checkout.publish(None)
    assert "it names no commit of its runs" in checkout.wrong()[0]


def test_pages_without_choices_are_refused_or_known(checkout: Checkout) -> None:
    checkout.page.write_text("# A page\n", encoding="utf-8")
    (silent,) = checkout.wrong()
    assert silent.endswith("it names no registered choices")
    wrong, remarks = order.problems(checkout.root, {NAME: "to be run again"})
    assert not wrong
    assert remarks == [f"known: {silent} (to be run again)"]
    checkout.register()
    digest = sha256(checkout.choices.read_bytes()).hexdigest()
    text = registration.stated("remapcom", checkout.commit(), digest)
    checkout.page.write_text(text, encoding="utf-8")
    assert "it names the choices of remapcom" in checkout.wrong()[0]


def test_results_of_other_runs_are_refused(checkout: Checkout) -> None:
    checkout.register()
    started = checkout.commit()
    checkout.publish(started)
    digest = sha256(checkout.choices.read_bytes()).hexdigest()
    results = checkout.page.with_suffix(".json")
    results.write_text(json.dumps({"registered": digest, "commit": started}))
    assert not checkout.wrong()
    results.write_text(json.dumps({"registered": digest, "commit": "0123456789ab"}))
    assert checkout.wrong()[0].endswith(f"{NAME}.json is of other runs")


def test_without_history_digests_are_checked_alone(checkout: Checkout, tmp_path: Path) -> None:
    checkout.register()
    checkout.publish("0123456789ab")
    checkout.commit()
    shallow = tmp_path / "shallow"
    url = checkout.root.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=1", url, str(shallow)], check=True)
    wrong, remarks = order.problems(shallow, {})
    assert not wrong
    assert remarks == ["this checkout is shallow: digests are checked, the order of commits is not"]
    (shallow / ".git").rename(tmp_path / "history")
    assert order.problems(shallow, {})[1][0].startswith("this is no git checkout")
    (shallow / order.REGISTERED / f"{NAME}.json").write_text("{ }")
    (wrong_digest,) = order.problems(shallow, {})[0]
    assert "the digest that it names is not that of" in wrong_digest


def test_the_pages_of_the_project_are_in_order() -> None:
    wrong, _ = order.problems(ROOT, order.KNOWN)
    assert not wrong


@pytest.mark.parametrize("name", [*PAPERS, *STUDIES])
def test_what_is_registered_is_what_is_run(name: str) -> None:
    """If not, the code runs something else: register it anew, and run it again."""
    assert registration.file_of(name).read_text(encoding="utf-8") == text_of(name)


def test_the_commit_of_a_checkout_is_that_of_its_tracked_files(checkout: Checkout) -> None:
    head = checkout.write("code", "of the runs")
    assert registration.commit(checkout.root / "code") == head
    (checkout.root / "code").write_text("changed", encoding="utf-8")
    assert registration.commit(checkout.root / "code") == f"{head}-dirty"
    (checkout.root / "other").write_text("not tracked", encoding="utf-8")
    assert registration.commit(checkout.root / "other") is None
    assert registration.commit(Path("/nowhere/file")) is None


def test_what_can_be_registered() -> None:
    with pytest.raises(ConfigError, match=r"noc: nothing to register; there are: .*noc-copyback"):
        text_of("noc")
    with pytest.raises(ConfigError, match=r"noc: its choices are not registered \(python -m"):
        registration.digest("noc")
    values = constants(order)
    assert values["NOT_RESULTS"] == ["presets"]
    assert "ROOT" in values
    assert plain({1: (Path("a/b"), len, {"x"})}) == {"1": ["b", "len", ["x"]]}
