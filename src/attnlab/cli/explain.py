"""``attnlab explain RUN "a sentence"``: which words a trained classifier looks at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text
from typer import Argument, Option

from attnlab.cli import options
from attnlab.cli.options import File, Screen

if TYPE_CHECKING:
    from attnlab.auditing.explain import Explanation


def explain(
    run: Annotated[str, Argument(help="A run's id or its first characters: see `attnlab store list`.")],
    sentence: Annotated[str, Argument(help="The text to explain, in quotation marks.", show_default=False)],
    label: Annotated[
        str | None, Option(help="The class that beta and delta are about.", show_default="the predicted one")
    ] = None,
    out: Annotated[File, Option(help="File to write: a page (.html) or its numbers (.json).")] = None,
    store: options.StoreOption = Path("runs"),
    as_json: options.JsonOption = False,
) -> None:
    """Say what a run predicts for a sentence, its words shaded by attention, lexical probe and influence."""
    from attnlab.auditing.explain import explain
    from attnlab.errors import UsageError
    from attnlab.files import check_outputs

    if out is not None:
        if out.suffix.lower() not in (".html", ".json"):
            raise UsageError(f"--out {out}: an explanation is written as .html (a page) or .json (its numbers).")
        check_outputs([out])
    made = explain(run, sentence, store=store, label=label)
    if out is not None:
        made.save(out)
    if as_json:
        options.print_json(made.to_json())
        return
    options.say(made.sentence)
    if not options.settings.quiet:
        _print(made)
    if out is not None:
        options.say(str(out))


def _print(made: "Explanation") -> None:
    """A line of shaded words for each quantity: orange for much, blue for the contrary."""
    from attnlab.auditing.explain_page import MEANING, shades

    screen = Screen()
    for name, words in shades(made).items():
        line = Text(f"{name:6}")
        for word in words:
            red, green, blue = (230, 159, 0) if word.strength > 0 else (86, 180, 233)
            share = min(abs(word.strength), 1)
            mixed = (round(255 - share * (255 - one)) for one in (red, green, blue))
            shown = options.harmless(word.word) + ("" if screen.color_system else f" ({word.value})")
            line.append(shown, f"black on rgb({','.join(map(str, mixed))})").append(" ")
        screen.print(line)
        top = max(words, key=lambda word: word.strength)
        screen.print(Text(f"      {MEANING[name]}; most at {options.harmless(top.word)!r} ({top.value})", "dim"))
