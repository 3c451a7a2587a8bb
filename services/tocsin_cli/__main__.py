"""`python -m tocsin_cli` is `tocsin`."""

from tocsin_cli.main import main

if __name__ == "__main__":
    main()
