"""What all tests share: Hypothesis' profiles, the data that some need, and the list of what was left out."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Times differ between machines, so no example has a deadline; CI draws the same examples on every run.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

_LEFT_OUT = pytest.StashKey[dict[str, str]]()
_LONG = ("slow", "more")
"""Markers of tests that `make test` leaves out; `make test-slow` and `make test-more` run them."""


@pytest.fixture
def data_root() -> Path:
    """The folder that ATTNLAB_DATA names; a test that uses it is marked ``needs_data("folder", ...)``."""
    return Path(os.environ["ATTNLAB_DATA"])


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Preprocessed corpora go into a folder of this session's, shared by its processes, and not into the user's."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str((base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "cache"))
        yield


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LEFT_OUT] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs_data"):
        missing = _missing(marker.args)
        if missing:
            pytest.skip(f"set ATTNLAB_DATA to a folder that holds {', '.join(missing)}")


def _missing(names: Iterable[str]) -> list[str]:
    """Those of the data folders that are not there."""
    root = os.environ.get("ATTNLAB_DATA")
    return [name for name in names if not root or not (Path(root) / name).is_dir()]


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        # Tests deselected by a -k or -m of the caller's own are no surprise to them.
        for marker in _LONG:
            if item.get_closest_marker(marker) and not item.config.option.keyword and _unasked(item.config):
                item.config.stash[_LEFT_OUT][item.nodeid] = f"make test-{marker}"


def _unasked(config: pytest.Config) -> bool:
    """Whether the expression of -m is the one of pyproject.toml."""
    return config.option.markexpr == " and ".join(f"not {marker}" for marker in _LONG)


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Under pytest-xdist the workers deselect and the controller reports.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[_LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    # A worker that crashed has no output.
    node.config.stash[_LEFT_OUT].update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = dict(config.stash[_LEFT_OUT])
    for report in terminalreporter.getreports("skipped"):
        left_out[report.nodeid] = _reason(report)
    if left_out:
        terminalreporter.section(f"left out: {len(left_out)}, and what brings each back")
        for test, remedy in sorted(left_out.items()):
            terminalreporter.line(f"{test}: {remedy}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test or a whole module was skipped; house rule: a reason says what would bring it back."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return getattr(report, "wasxfail", "") or str(report.longrepr)
