"""The console script. It imports nothing at module level, because every spawned child may import it again."""


def main() -> None:
    """Run the command line and exit with its code."""
    import sys

    try:
        from rtdesk.cli import run
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
