"""Attributes of files that the tools write anew."""

import os
import struct
import tempfile

from suite import ParityTest, local_only

ACCESS = "system.posix_acl_access"
NOBODY = 0xFFFFFFFF


def acl(*entries):
    """Version 2: tag, permissions and id of each."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@local_only
class AttributesTest(ParityTest):
    def test_a_mounted_file_whose_acl_names_somebody_unknown_to_the_sandbox(self):
        """It is written where it is: nobody in there could set such an ACL on a new file."""
        named = acl((1, 6, NOBODY), (2, 6, 1234), (4, 4, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f")
            with open(path, "w", encoding="ascii") as file:
                file.write("one\n")
            os.setxattr(path, ACCESS, named)
            berth = self.start("--session", "mounted", "--mount", f"{folder}:/mnt/f:rw")
            for tool, arguments in (
                    ("edit_file", {"path": "/mnt/f/f", "old_text": "one", "new_text": "two"}),
                    ("write_file", {"path": "/mnt/f/f", "content": "three\n"})):
                result = berth.call_tool(tool, arguments)
                self.assertFalse(result.is_error, result)
            with open(path, encoding="ascii") as file:
                self.assertEqual(file.read(), "three\n")
            self.assertEqual(os.getxattr(path, ACCESS), named)
