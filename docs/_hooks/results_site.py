"""The site of all results, built into the documentation below ``results/``."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

from attnlab.lab.site import build_site

ROOT = Path(__file__).parents[2]


def on_post_build(config: MkDocsConfig) -> None:
    """Write every claim and a page for each experiment, with links back to the documentation."""
    build_site(ROOT / "results", Path(config.site_dir) / "results", docs="..")
