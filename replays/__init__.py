"""What happened, in order: the events, the file they are kept in, and those who read it.

    events                                the one vocabulary, a leaf that everything else imports
    format, payload, writer, scan         the file: its bytes, how it is written, how it is found again after damage
    reader, cursor                        one open recording, and a place in it
    reduce, view_state, streams, plans    events folded into what a screen shows
    verify, diff, info, timing, export    what can be said of a recording without a model or a clock
"""
