"""Every test that is left out is listed with what brings it back: the real configuration on a small suite."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SUITE = """
    import pytest

    @pytest.mark.needs_data("multi30k", "sst")
    def test_corpora(data_root):
        assert (data_root / "sst").is_dir()

    @pytest.mark.slow
    def test_long():
        assert False, "a slow test ran unasked"

    @pytest.mark.more
    def test_longer():
        assert False, "a test for later ran unasked"

    @pytest.mark.skipif(True, reason="get a machine with a GPU")
    def test_gpu():
        assert False

    def test_plain():
        pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (pytester.path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    tests = pytester.mkdir("tests")
    (tests / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(**{"tests/test_small": SUITE})
    return pytester


def left_out(result: pytest.RunResult) -> dict[str, str]:
    """The lines of the closing section: test -> what brings it back."""
    section = re.search(r"=+ left out: .*? =+\n(.*?)\n=", result.stdout.str(), re.DOTALL)
    return dict(line.split(": ", 1) for line in section[1].splitlines()) if section else {}


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_lists_every_test_left_out(suite: pytest.Pytester, arguments: list[str]) -> None:
    result = suite.runpytest_subprocess(*arguments)
    assert result.ret == 0
    assert left_out(result) == {
        "tests/test_small.py::test_corpora": "set ATTNLAB_DATA to a folder that holds multi30k, sst",
        "tests/test_small.py::test_gpu": "get a machine with a GPU",
        "tests/test_small.py::test_long": "make test-slow",
        "tests/test_small.py::test_longer": "make test-more",
    }


def test_data_brings_a_test_back(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    data = suite.mkdir("data")
    (data / "multi30k").mkdir()
    monkeypatch.setenv("ATTNLAB_DATA", str(data))
    assert left_out(suite.runpytest_subprocess())["tests/test_small.py::test_corpora"].endswith("holds sst")
    (data / "sst").mkdir()
    result = suite.runpytest_subprocess()
    assert "tests/test_small.py::test_corpora" not in left_out(result)
    result.assert_outcomes(passed=2, skipped=1, deselected=2)


@pytest.mark.parametrize("marker", ["slow", "more"])
def test_long_tests_run_when_asked_for(suite: pytest.Pytester, marker: str) -> None:
    result = suite.runpytest_subprocess("-m", marker)
    result.assert_outcomes(failed=1, deselected=4)
    assert left_out(result) == {}


def test_skipped_module_is_listed_once(suite: pytest.Pytester) -> None:
    suite.makepyfile(**{"tests/test_gone": "import pytest\npytest.importorskip('no_such_module')"})
    result = suite.runpytest_subprocess("-n", "2")
    assert "no_such_module" in left_out(result)["tests/test_gone.py"]


def test_nothing_left_out_says_nothing(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("-k", "plain")
    result.assert_outcomes(passed=1, deselected=4)
    assert left_out(result) == {}


def test_unknown_marker_is_refused(suite: pytest.Pytester) -> None:
    suite.makepyfile(**{"tests/test_typo": "import pytest\n\n@pytest.mark.slwo\ndef test(): pass"})
    assert suite.runpytest_subprocess().ret != 0
