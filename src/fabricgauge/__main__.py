"""``python -m fabricgauge``, where the program itself is not on the PATH."""

from fabricgauge.cli.main import main

if __name__ == "__main__":
    main()
