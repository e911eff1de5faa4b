"""The results that came with attnlab: a clone has all of them, a wheel the document of each."""

from pathlib import Path

PACKAGE = Path(__file__).parents[2]


def committed() -> Path | None:
    """Their folder: inside the package if it was installed from a wheel, else that of the clone; None if neither is."""
    for folder in (PACKAGE / "results", PACKAGE.parents[1] / "results"):
        if (folder / "copying").is_dir():
            return folder
    return None


def places_of_results(named: Path | None) -> list[Path]:
    """Folders of results, the first of them first: the one that is named, else ``results`` here, if it is there, and
    those that came with attnlab.
    """
    if named is not None:
        return [named]
    here, came = Path("results"), committed()
    places = [here] if here.is_dir() else []
    if came is not None and not any(place.resolve() == came.resolve() for place in places):
        places.append(came)
    return places or [here]


def in_words(place: Path) -> str:
    """A folder of results as it is spoken of."""
    return "those that came with attnlab" if place == committed() and place != Path("results") else str(place)
