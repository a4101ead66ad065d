"""What cannot be run here is no failure, and never silent."""
SKIPPED = 77  # the exit status that ctest takes for a skipped test


class Unavailable(Exception):
    """Why something cannot be run on this machine, in one sentence."""
