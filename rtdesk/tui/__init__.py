"""The screen, live and replayed: the only folder that imports textual.

    scene, board, panes, meter, cards     pure: state, look and size in, rows of styled text out
    app, actions, keys, rows              widgets that paint those rows, and keys that ask for something
    source, player, scrubber, states      where the events come from, and a place in a recording
"""
