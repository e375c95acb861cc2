// A patch of Codex's kind, and its hunks on a text: PATCH ==== TEXT.

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/files/edit_diff.hpp"
#include "sandbox/guest/files/patch_hunks.hpp"
#include "sandbox/guest/files/patch_text.hpp"
#include "tests/fuzz/guest_document.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using berth::fuzz::require;
using berth::guest::PatchEntry;

void require_whole(const PatchEntry& entry)
{
    require(!entry.path.empty(), "an entry has a path");
    for (const auto& hunk : entry.hunks) {
        require(hunk.old_text.empty() || hunk.old_text.ends_with('\n'), "old text is lines");
        require(hunk.new_text.empty() || hunk.new_text.ends_with('\n'), "new text is lines");
        require(hunk.old_text != hunk.new_text, "a hunk changes something");
    }
}

void apply(const PatchEntry& entry, std::string_view text)
{
    constexpr std::uint64_t budget = 64 * 1024;
    berth::fuzz::GuestDocument document(text);
    bool applied = false;
    try {
        (void)berth::guest::apply_hunks(entry, *document);
        applied = true;
    } catch (const berth::Error& error) {
        require(berth::utf8::is_valid(error.what()), "a message is UTF-8");
    }
    require(document.text().size() == document->size(), "the size is that of the text");
    if (applied) {
        const auto diff = berth::guest::unified_diff(*document, budget, false, false);
        require(berth::utf8::is_valid(diff.text), "a diff is UTF-8");
    }
}

} // namespace

BERTH_FUZZ_TARGET(codex_patch)
{
    const auto [patch, text] = berth::fuzz::parts_of<2>(input);
    std::vector<PatchEntry> entries;
    try {
        entries = berth::guest::parse_patch(patch);
    } catch (const berth::Error& error) {
        require(berth::utf8::is_valid(error.what()), "a message is UTF-8");
        return;
    }
    require(!entries.empty() && entries.size() <= berth::guest::most_patched_files,
            "a patch has some files, and not too many");
    for (const auto& entry : entries) {
        require_whole(entry);
        if (entry.kind == PatchEntry::Kind::update) {
            apply(entry, text);
        }
    }
}
