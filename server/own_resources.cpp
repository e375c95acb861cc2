#include "server/own_resources.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "server/workspace_uri.hpp"
#include "tools/render.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace berth::server {
namespace {

constexpr const char* session_uri = "berth://session";
constexpr const char* file_template = "workspace:///{+path}";

mcp::Resource resource_of(const workspace::Entry& file)
{
    return {.uri = workspace_uri(file.path),
            .name = file.path.substr(1),
            .mime_type = std::string(mime_type_of(file.path)),
            .size = file.size,
            .modified = file.modified};
}

/// Of text that JSON has to escape to six bytes each, more than a few.
bool is_mostly_control(const std::string& bytes)
{
    constexpr std::size_t few = 16;
    const auto count = std::ranges::count_if(bytes, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte == 0x7f || (byte < 0x20 && c != '\t' && c != '\n' && c != '\r');
    });
    return static_cast<std::size_t>(count) > bytes.size() / few;
}

/// A NUL is valid UTF-8, and in no text. What would be six times as large as text is sent as bytes:
/// a few readers that do not read would have the server hold gigabytes.
bool is_text(const std::string& bytes)
{
    return utf8::is_valid(bytes) && bytes.find('\0') == bytes.npos && !is_mostly_control(bytes);
}

} // namespace

mcp::ResourcePage OwnResources::list(const std::string& from, const std::stop_token& /*stop*/)
{
    mcp::ResourcePage page_of;
    if (!from.empty() && !from.starts_with('/')) {
        throw Error(ErrorCode::invalid_argument, "no page begins there");
    }
    if (from.empty() && sources_.session) {
        page_of.resources.push_back({.uri = session_uri,
                                     .name = "session",
                                     .title = "The session and its sandbox",
                                     .description = "What session_info tells, for programs.",
                                     .mime_type = "application/json",
                                     .drawing = "session"});
    }
    if (sources_.has_files()) {
        std::size_t total = 0;
        // One more than is shown, to know whether there is another page.
        auto files = sources_.workspace->list(sources_.principal, "/", page + 1, total, from);
        if (files.size() > page) {
            files.resize(page);
            page_of.next = files.back().path;
        }
        std::ranges::transform(files, std::back_inserter(page_of.resources), resource_of);
    }
    return page_of;
}

std::vector<mcp::ResourceTemplate> OwnResources::templates()
{
    if (!sources_.has_files()) {
        return {};
    }
    return {{.uri = file_template,
             .name = "workspace",
             .title = "A file of the workspace",
             .description = "The workspace outlives every sandbox and is shared by its user's "
                            "sessions. path is the file's, as in reports/a.txt.",
             .drawing = "workspace"}};
}

mcp::ResourceContent OwnResources::read(const std::string& uri, const std::stop_token& stop,
                                        const Hold& hold)
{
    if (uri == session_uri && sources_.session) {
        return {.mime_type = "application/json", .bytes = sources_.session(stop), .is_text = true};
    }
    if (sources_.has_files()) {
        if (const auto path = workspace_path(uri)) {
            return read_file(*path, stop, hold);
        }
    }
    throw Error(ErrorCode::not_found, "Resource not found: " + visible_beginning(uri, 256),
                "resources/list has those there are.");
}

mcp::ResourceContent OwnResources::read_file(const std::string& path, const std::stop_token& stop,
                                             const Hold& hold)
{
    constexpr std::size_t piece = 256 * 1024;
    const auto reader = sources_.workspace->open(sources_.principal, path);
    const auto& file = reader->entry();
    if (file.size > most_bytes) {
        throw Error(ErrorCode::too_large,
                    visible(file.path) + " has " + tools::human_bytes(file.size) +
                        "; a resource is read up to " + tools::human_bytes(most_bytes),
                    "load_from_workspace brings it into the sandbox, where parts can be read.");
    }
    hold(file.size);
    mcp::ResourceContent content;
    content.bytes.reserve(file.size);
    for (auto bytes = reader->read(piece); !bytes.empty(); bytes = reader->read(piece)) {
        if (stop.stop_requested()) {
            throw Error(ErrorCode::cancelled, "the request was cancelled");
        }
        content.bytes += bytes;
    }
    content.is_text = is_text(content.bytes);
    content.mime_type = mime_type_of(file.path);
    if (content.mime_type.empty()) {
        content.mime_type = content.is_text ? "text/plain" : "application/octet-stream";
    }
    return content;
}

/// By the path as it was begun, with or without a slash before it.
std::optional<mcp::Completion> OwnResources::complete(const std::string& uri_template,
                                                      const std::string& argument,
                                                      const std::string& value)
{
    if (!sources_.has_files() || uri_template != file_template || argument != "path") {
        return std::nullopt;
    }
    const bool has_slash = value.starts_with('/');
    const auto begun = has_slash ? value : '/' + value;
    const auto folder = begun.substr(0, std::max<std::size_t>(begun.rfind('/'), 1));
    std::size_t total = 0;
    mcp::Completion found;
    const auto add = [&](const std::string& path) {
        found.values.push_back(path.substr(has_slash ? 0 : 1));
    };
    auto& files = *sources_.workspace;
    if (!begun.ends_with('/')) { // the path itself may be whole
        for (const auto& file : files.list(sources_.principal, begun, 1, total)) {
            if (file.path == begun) {
                add(file.path);
            }
        }
    }
    for (const auto& file :
         files.list(sources_.principal, folder, mcp::Completion::most + 1, total, begun)) {
        if (!file.path.starts_with(begun)) {
            break;
        }
        add(file.path);
    }
    return found;
}

} // namespace berth::server
