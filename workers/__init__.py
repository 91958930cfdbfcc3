"""Thinking and time: who decides, who waits for whom, and the processes that run them.

    config, episode, cast                 what was asked for, checked; and who takes part
    conductor, planner, reactor           the pure half: it decides, and never waits
    simulator, live                       the two who drive it: lists in one process, or processes over shared memory
    rings, wire                           what processes say to each other, and the memory they say it through
    agents, prompts, answers              what a thinker is asked, and how its text is read
    backends, thinkers, sandbox           who thinks: models behind servers, searches of our own, programs under guard
"""
