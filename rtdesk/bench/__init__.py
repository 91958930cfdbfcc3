"""`rtdesk bench`: a grid of episodes, run by the simulator in many processes, one replay and one line of results each.

`grid` says what is to be played, `episode` plays one, `pool` and `cluster` play many at once, `folder` keeps what came of it, `run` is the
command. Nothing here is imported before it is used: the processes that play load neither a screen nor numpy.
"""
