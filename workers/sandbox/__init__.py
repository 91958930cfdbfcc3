"""Where a policy program lives: judged by its text (`check`), run in a process of its own (`child`) that another one watches (`host`).

    from workers.sandbox.check import read_program      a thinker's text -> a program, or why there is none
    from workers.sandbox.host import Program            Program(source) raises ProgramError for what is no program
    program.start(); program.call(view)                 an Outcome: what act(view, memory) returned, or what went wrong
    program.close()

A seat belt, not a jail: it holds what a language model writes by accident or in jest. See docs/code-agent.md for what is promised.
"""
