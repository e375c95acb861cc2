#include "tools/transfer.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tools/render.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace berth::tools {
namespace {

[[noreturn]] void damaged(const std::string& what)
{
    throw Error(ErrorCode::backend_error, "the sandbox sent a damaged file transfer: " + what,
                "Save it again. If that does not help, the operator ends the session with `berth "
                "sessions kill`.");
}

/// The number at the front of `bytes` and its length; nothing while it is not whole.
std::optional<std::pair<std::uint64_t, std::size_t>> varint(std::string_view bytes)
{
    constexpr std::size_t longest = 3; // enough for max_transfer_header
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == longest) {
            damaged("a header without end");
        }
        const auto byte = static_cast<unsigned char>(bytes[i]);
        value |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
        if ((byte & 0x80U) == 0) {
            return std::pair(value, i + 1);
        }
    }
    return std::nullopt;
}

/// A name that climbs ("..") or starts at the root would leave the place it was meant for.
void check_name(std::string_view name)
{
    if (name.empty() || name.find('\0') != std::string_view::npos) {
        damaged("a file without a name");
    }
    for (std::string_view rest = name;;) {
        const auto slash = rest.find('/');
        const auto component = rest.substr(0, slash);
        if (component.empty() || component == "." || component == "..") {
            damaged("a name that leaves its directory");
        }
        if (slash == std::string_view::npos) {
            return;
        }
        rest.remove_prefix(slash + 1);
    }
}

} // namespace

TransferReader::TransferReader(Begin begin, Data data, End end)
    : begin_(std::move(begin)), data_(std::move(data)), end_(std::move(end))
{
}

bool TransferReader::take_header(std::string_view& bytes)
{
    while (!bytes.empty()) {
        header_ += bytes.front();
        bytes.remove_prefix(1);
        const auto size = varint(header_);
        if (!size) {
            continue;
        }
        if (size->first > protocol::max_transfer_header) {
            damaged("a header that is too long");
        }
        const std::size_t whole = size->second + size->first;
        const auto missing = bytes.substr(0, std::min(whole - header_.size(), bytes.size()));
        header_ += missing;
        bytes.remove_prefix(missing.size());
        if (header_.size() < whole) {
            continue;
        }
        protocol::TransferHeader header;
        try {
            header = protocol::decode<protocol::TransferHeader>(
                std::string_view(header_).substr(size->second));
        } catch (const protocol::WireError& error) {
            damaged(error.what());
        }
        check_name(header.name);
        if (++files_ > max_transfer_files) {
            damaged("more files than were asked for");
        }
        header_.clear();
        content_left_ = header.size;
        begin_(header);
        return true;
    }
    return false;
}

void TransferReader::feed(std::string_view bytes)
{
    while (in_content_ || !bytes.empty()) {
        if (!in_content_) {
            in_content_ = take_header(bytes);
            continue;
        }
        const auto piece = bytes.substr(
            0, static_cast<std::size_t>(std::min<std::uint64_t>(content_left_, bytes.size())));
        if (!piece.empty()) {
            data_(piece);
            bytes.remove_prefix(piece.size());
            content_left_ -= piece.size();
        }
        if (content_left_ > 0) {
            return;
        }
        in_content_ = false;
        end_();
    }
}

void TransferReader::finish() const
{
    if (in_content_ || !header_.empty()) {
        damaged("it ends inside a file");
    }
}

void require_loadable(std::uint64_t files, std::uint64_t bytes)
{
    const auto refuse = [](const std::string& what, const std::string& most) {
        throw Error(ErrorCode::too_large, what + " are more than one call loads (" + most + ")",
                    "Name a part of it: a longer prefix, or single files.");
    };
    if (files > max_transfer_files) {
        refuse(counted(files, "file"), thousands(max_transfer_files));
    }
    if (bytes > max_transfer_bytes) {
        refuse(human_bytes(bytes), human_bytes(max_transfer_bytes));
    }
}

std::string transfer_header(const protocol::TransferHeader& header)
{
    const std::string message = protocol::encode(header);
    std::string bytes;
    protocol::put_varint(bytes, message.size());
    return bytes + message;
}

} // namespace berth::tools
