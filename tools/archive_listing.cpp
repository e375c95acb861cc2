#include "tools/archive_listing.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/read_report.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace berth::tools {
namespace {

constexpr std::uint64_t most_listing = 4ULL << 20U; // bytes
constexpr int not_a_tar = 65;

/// No program is given the file's name: unzip takes [ and * in it for a pattern, tar a colon for a
/// host. To unzip 1 is a warning, e.g. that there are no entries.
constexpr std::string_view list_zip = R"(exec 3<"$BERTH_FILE" || exit 1
if command -v unzip; then list() { unzip -lqq /proc/self/fd/3; [ $? -le 1 ]; }
elif command -v bsdtar; then list() { bsdtar -tvf - <&3; }
elif command -v python3; then list() { python3 -I -c '
import sys, zipfile
sys.stdout.reconfigure(encoding="utf-8", errors="replace")
for e in zipfile.ZipFile(sys.stdin.buffer).infolist():
    name = "".join(c if c.isprintable() else repr(c)[1:-1] for c in e.filename)
    print("%9d  %04d-%02d-%02d %02d:%02d   %s" % (e.file_size, *e.date_time[:5], name))' <&3; }
else exit 127
fi >/dev/null
list | head -c "$BERTH_BYTES"
exit "${PIPESTATUS[0]}"
)";

constexpr std::string_view list_tar = R"(exec <"$BERTH_FILE" || exit 1
command -v tar >/dev/null || exit 127
tar -tvf - | head -c "$BERTH_BYTES"
exit "${PIPESTATUS[0]}"
)";

constexpr std::string_view list_compressed_tar = R"(
command -v tar >/dev/null && command -v "$BERTH_UNPACK" >/dev/null || exit 127
magic=$("$BERTH_UNPACK" -dc <"$BERTH_FILE" 2>/dev/null | head -c 262 | tail -c 5 | tr -d '\0')
[ "$magic" = ustar ] || exit 65
"$BERTH_UNPACK" -dc <"$BERTH_FILE" | tar -tvf - | head -c "$BERTH_BYTES"
status=("${PIPESTATUS[@]}")
[ "${status[1]}" = 0 ] && exit "${status[0]}"
exit "${status[1]}"
)";

constexpr std::string_view list_7z = R"(
if command -v bsdtar >/dev/null; then list() { bsdtar -tvf - <"$BERTH_FILE"; }
else
    for program in 7z 7zz 7za 7zr ''; do command -v "$program" >/dev/null && break; done
    [ -n "$program" ] || exit 127
    list() { "$program" l -ba -spd -- "$BERTH_FILE"; }
fi
list | head -c "$BERTH_BYTES"
exit "${PIPESTATUS[0]}"
)";

struct Archive {
    std::string_view mime_type;
    std::string_view script;
    std::string_view needs; ///< programs, and Debian's package
    std::string_view unpack = {};
};

constexpr std::array archives = {
    Archive{"application/zip", list_zip, "unzip (package unzip), bsdtar or python3"},
    Archive{"application/x-tar", list_tar, "tar (package tar)"},
    Archive{"application/gzip", list_compressed_tar, "tar and gzip (package gzip)", "gzip"},
    Archive{"application/x-bzip2", list_compressed_tar, "tar and bzip2 (package bzip2)", "bzip2"},
    Archive{"application/x-xz", list_compressed_tar, "tar and xz (package xz-utils)", "xz"},
    Archive{"application/zstd", list_compressed_tar, "tar and zstd (package zstd)", "zstd"},
    Archive{"application/x-7z-compressed", list_7z,
            "bsdtar (package libarchive-tools) or 7z (package 7zip or p7zip-full)"},
};

const Archive* find_archive(std::string_view mime_type)
{
    const auto found = std::find_if(archives.begin(), archives.end(), [&](const Archive& archive) {
        return archive.mime_type == mime_type;
    });
    return found == archives.end() ? nullptr : &*found;
}

std::vector<std::string_view> lines_of(std::string_view text)
{
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

/// Why there is no listing; empty: there is one.
std::string no_listing(const Archive& archive, const ScriptOutput& output)
{
    if (output.exit_code == program_missing) {
        return "its entries can be listed where the sandbox has " + std::string(archive.needs) +
               ", which this one does not have";
    }
    if (output.exit_code == not_a_tar && output.out.empty()) {
        return "compressed, with no tar archive in it: " + std::string(archive.unpack) +
               " -dc FILE | head in bash_exec shows what is";
    }
    return output.exit_code != 0 && output.out.empty()
               ? "its entries cannot be listed: " + output.complaint
               : "";
}

std::string entries_phrase(std::uint64_t first, std::uint64_t count, std::uint64_t total,
                           bool whole)
{
    if (count == 0) {
        return total == 0 ? "no entries"
                          : "offset " + thousands(first) + " is past the end: it has " +
                                counted(total, "entry");
    }
    if (count == total && whole) {
        return counted(total, "entry");
    }
    return (count == 1 ? "entry " + thousands(first + 1)
                       : "entries " + thousands(first + 1) + "–" + thousands(first + count)) +
           " of " + (whole ? "" : "at least ") + thousands(total);
}

} // namespace

bool is_archive(std::string_view mime_type)
{
    return find_archive(mime_type) != nullptr;
}

Result listing_report(const protocol::ReadFileReply& reply, std::string_view listing, bool whole,
                      std::string_view complaint, const ReadFile::Args& args,
                      const Settings& settings)
{
    auto lines = lines_of(listing);
    if (!whole && !listing.ends_with('\n') && !lines.empty()) {
        lines.pop_back(); // cut in its midst
    }
    const std::uint64_t total = lines.size();
    if (!whole && args.offset < 0) {
        throw Error(ErrorCode::too_large,
                    "the listing of " + visible(reply.path) + " was not read to its end, after " +
                        counted(total, "entry"),
                    "Count from the beginning, or use tar -tvf, unzip -l or the like with tail in "
                    "bash_exec.");
    }
    const std::uint64_t first = first_of(args.offset, total);
    const auto limit = static_cast<std::uint64_t>(
        args.limit.value_or(static_cast<std::int64_t>(settings.read_limit)));
    std::string text;
    std::uint64_t next = first;
    for (std::uint64_t left = settings.read_budget; next < total && next - first < limit; ++next) {
        const auto line = visible(lines[static_cast<std::size_t>(next)]) + "\n";
        const std::uint64_t needed = utf8::count(line);
        // One is shown in any case: the next page would begin with it again.
        if (needed > left && next > first) {
            break;
        }
        left -= std::min(left, needed);
        text += line;
    }
    const std::uint64_t count = next > first ? next - first : 0;
    const bool more = count > 0 && next < total;
    const std::string about = reply.mime_type + ", " + human_bytes(reply.size) + ": " +
                              entries_phrase(first, count, total, whole);
    const std::string header = status_line({about, std::string(complaint),
                                            more ? "next: offset " + std::to_string(next) : "",
                                            short_hash("", reply.sha256)});
    auto data = read_data(reply, about);
    data["kind"] = "archive";
    data["content"] = text;
    data["first_line"] = count > 0 ? first + 1 : 0;
    data["line_count"] = count;
    data["total_lines"] = total;
    data["totals_partial"] = !whole;
    data["truncated_by"] = !more ? (whole ? "" : "budget") : count == limit ? "limit" : "budget";
    data["next_offset"] = more ? next : 0;
    return {header + "\n" + text, std::move(data)};
}

Result archive_listing(Context& context, const ReadFile::Args& args,
                       const protocol::ReadFileReply& reply)
{
    const Archive& archive = *find_archive(reply.mime_type);
    SandboxScript script;
    script.text = archive.script;
    script.variables = {{"BERTH_FILE", reply.path},
                        {"BERTH_UNPACK", std::string(archive.unpack)},
                        {"BERTH_BYTES", std::to_string(most_listing)}};
    script.most_output = most_listing;
    const auto output = run_script(context, script);
    if (const auto why = no_listing(archive, output); !why.empty()) {
        return described(reply, why);
    }
    const bool cut = output.out.size() >= most_listing;
    const bool failed = !cut && output.exit_code != 0;
    return listing_report(reply, output.out, !cut && !failed, failed ? output.complaint : "", args,
                          context.settings);
}

} // namespace berth::tools
