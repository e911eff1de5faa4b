"""Without Chromium the tests in a browser are left out and say what brings them back; on CI they fail."""

import pytest
from tests.browser.opening import need_chromium


@pytest.fixture
def without(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("ATTNLAB_CHROMIUM", "CI"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.usefixtures("without")
def test_they_are_left_out_with_what_brings_them_back():
    with pytest.raises(pytest.skip.Exception, match="install Debian's package chromium"):
        need_chromium()


def test_on_ci_they_fail(without):
    without.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="No Chromium was found"):
        need_chromium()


def test_one_that_is_named_is_taken(without):
    without.setenv("ATTNLAB_CHROMIUM", "/somewhere/chromium")
    assert need_chromium() == "/somewhere/chromium"
