#pragma once

// Files on their way between sandbox and workspace; the data itself is in transfer.hpp.

#include "sandbox/protocol/messages/protection.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

struct ExportRequest {
    std::string path; ///< a file, a directory, or a glob pattern
    std::uint64_t max_bytes = 0;
    std::uint64_t max_entries = 0;
    /// Of the home alone, with names that begin at it (docs/adr/0022); else where the pattern does.
    bool from_home = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.max_bytes);
        field(3, self.max_entries);
        field(4, self.from_home);
    }
};

struct ExportReply {
    std::string root;    ///< what the entries' names are relative to, absolute
    bool single = false; ///< `path` named one file
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> skipped; ///< symlinks, empty directories ...: "name: reason"
    std::uint64_t skipped_total = 0;  ///< of which `skipped` has the first thousand

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.root);
        field(2, self.single);
        field(3, self.files);
        field(4, self.bytes);
        field(5, self.skipped);
        field(6, self.skipped_total);
    }
};

struct ImportRequest {
    std::string path;    ///< the file, or the directory that gets the entries
    bool single = false; ///< one file is sent, and `path` is its name
    bool overwrite = true;
    /// Of the entries that will come: none is written unless there is a place for each. May be
    /// empty.
    std::vector<std::string> names;
    std::optional<Protection> protection; ///< absent: no file is

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.single);
        field(3, self.overwrite);
        field(4, self.names);
        field(5, self.protection);
    }
};

struct TransferredFile {
    std::string path; ///< absolute, in the sandbox
    std::uint64_t size = 0;
    std::string sha256;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.size);
        field(3, self.sha256);
    }
};

struct ImportReply {
    std::vector<TransferredFile> files;
    std::vector<ProtectedChange> protected_changes;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.files);
        field(2, self.protected_changes);
    }
};

} // namespace berth::protocol
