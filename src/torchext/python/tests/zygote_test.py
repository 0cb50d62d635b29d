#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The zygote outlives whatever its children and their parents do, in any order. Method: serve()
with requests, children and a channel of the test's own; PyTorch is not needed.

  zygote_test.py
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import zygote  # the path is known only now


class Zygote(unittest.TestCase):
    def test_a_child_that_ends_when_its_parent_hangs_up_does_not_end_the_zygote(self):
        control, requests = os.pipe()
        zygote.CONTROL_FD = control

        def receive():
            if os.read(control, 1) == b"-":
                raise zygote.native.Failed("no more requests")
            ours, theirs = os.pipe()
            os.close(ours)  # nobody waits for the end
            return {}, (os.open("/dev/null", os.O_RDONLY), theirs)

        class Child(zygote.Child):
            def __init__(self, pid, pipe):
                super().__init__(pid, pipe)
                # Both are reported in the next round.
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

            def reap(self):
                super().reap()
                reaped.append(self.pid)
                os.write(requests, b"r" if len(reaped) < 3 else b"-")

        reaped = []
        zygote.Child, zygote.native.receive = Child, receive
        zygote.run_child = lambda request, channel: os._exit(0)
        os.write(requests, b"r")
        zygote.serve()
        self.assertEqual(len(set(reaped)), 3)


if __name__ == "__main__":
    unittest.main()
