"""The projector in a process of its own, so that requests and the log do not share an interpreter.

    gateway ──── settings, demand ───►  projector
       ▲                                    │ writes
       └──── news, trouble, its end ────────┤
    reads ◄──── the read model ◄────────────┘

`python -m tocsin_gateway.projector_process FD` is the program; `host` starts it, hears it, and
starts it again when it dies. Each ends when the other has gone: the socket between them says so.
"""
