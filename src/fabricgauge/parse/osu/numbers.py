"""Numbers as C's printf writes them."""

#: More digits than any size or count has; int() takes its time with very long ones.
MOST_DIGITS = 18


def is_number(word: str) -> bool:
    """Whether ``float`` reads the word; ``inf`` and ``-nan`` are numbers to printf as well."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def decimals(word: str) -> int:
    """How many digits stand behind the point; the suite prints as many in each row."""
    return len(word.partition(".")[2])
