"""The users' pages stay few and short; proof, history and formats stand in docs/development."""

from tests.docs.pages import PAGES, ROOT

USER_PAGES = [
    page
    for page in PAGES
    if page.is_relative_to(ROOT / "docs") and not page.is_relative_to(ROOT / "docs/development")
]


def test_the_users_pages_are_few_and_short() -> None:
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in USER_PAGES)
    assert words <= 55_000
    assert len(USER_PAGES) <= 45
