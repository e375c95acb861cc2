#pragma once

// Files that others than the sandbox's programs obey: what is told of a change to one.

#include <cstdint>
#include <string>
#include <vector>

namespace berth::protocol {

/// Which they are, in the sandbox: `~/NAME` in the home alone, `NAME` in every folder; with a slash
/// at its end all that is in that folder.
struct Protection {
    std::vector<std::string> paths;
    bool refuse = false; ///< to the tools that write files

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.paths);
        field(2, self.refuse);
    }
};

enum class Change : std::uint8_t { created, changed, removed };

struct ProtectedChange {
    std::string path; ///< where it really is
    Change change = Change::changed;
    /// Before the command: by a job, or from outside of the sandbox, since the last look.
    bool before = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.change);
        field(3, self.before);
    }
};

} // namespace berth::protocol
