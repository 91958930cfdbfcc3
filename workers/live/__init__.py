"""The live run: the conductor, the thinkers and the recorder as real processes over shared memory."""
