"""The process of a local model: a llama.cpp server on 127.0.0.1 that lives as long as its parent does.

Run as a file, not imported, and it imports nothing of ours: `python _llama.py MODEL CONTEXT SLOTS THREADS LAYERS`. It writes one JSON line
with its port, or why there is none, and then serves. Its standard input is a pipe whose other end only the parent holds: when that
end is closed, by whatever death, it exits at once. A signal asked of the kernel would come when the parent's *thread* ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading


def main() -> int:
    # What llama.cpp prints goes to stderr; the first line on stdout is ours.
    line = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threading.Thread(target=_watch, daemon=True).start()
    model, context, slots, threads, layers = sys.argv[1], *map(int, sys.argv[2:])
    try:
        import xllamacpp
    except ImportError as error:
        return _say(line, error=f"xllamacpp cannot be imported: {error}")
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {os.path.basename(model)}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = slots
    # The context is shared among the slots.
    params.n_ctx = context * slots
    params.kv_unified = False
    params.n_gpu_layers = layers
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_threads_http = slots + 2
    params.warmup = False
    params.ui = False
    try:
        server = xllamacpp.Server(params)
    except Exception as error:
        return _say(line, error=f"{type(error).__name__}: {error}")
    _say(line, url=server.listening_address)
    threading.Event().wait()
    return 0


def _say(line: object, **what: str) -> int:
    print(json.dumps(what), file=line, flush=True)  # type: ignore[call-overload]
    return 1


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
