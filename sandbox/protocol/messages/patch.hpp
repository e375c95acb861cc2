#pragma once

// Changing several files at once.

#include "sandbox/protocol/messages/protection.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

struct PatchFilesRequest {
    std::string patch; ///< as Codex's apply_patch takes it
    bool dry_run = false;
    std::uint64_t max_size = 0;           ///< of each file
    std::uint64_t diff_budget = 0;        ///< bytes of diff in the reply
    std::optional<Protection> protection; ///< absent: no file is

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.patch);
        field(2, self.dry_run);
        field(3, self.max_size);
        field(4, self.diff_budget);
        field(5, self.protection);
    }
};

enum class PatchAction : std::uint8_t { add, update, remove, move };

struct PatchedFile {
    std::string path; ///< absolute
    PatchAction action = PatchAction::update;
    std::string moved_to;               ///< absolute
    std::uint64_t hunks = 0;            ///< changed in it
    std::uint64_t size = 0;             ///< afterwards; of a removed file 0
    std::string sha256;                 ///< afterwards; of a removed file empty
    std::vector<std::string> tolerated; ///< as EditFileReply has it

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.action);
        field(3, self.moved_to);
        field(4, self.hunks);
        field(5, self.size);
        field(6, self.sha256);
        field(7, self.tolerated);
    }
};

struct PatchFilesReply {
    std::vector<PatchedFile> files; ///< in the patch's order
    std::string diff;               ///< unified, of the files that stay; whole files only
    bool diff_truncated = false;
    bool dry_run = false;
    std::vector<ProtectedChange> protected_changes;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.files);
        field(2, self.diff);
        field(3, self.diff_truncated);
        field(4, self.dry_run);
        field(5, self.protected_changes);
    }
};

} // namespace berth::protocol
