#pragma once

#include "tools/read_file.hpp"

#include <string_view>

namespace berth::tools {

/// Archives, and what a compressed file may hold one in.
[[nodiscard]] bool is_archive(std::string_view mime_type);

/// The entries of an archive in the sandbox, listed by a program there; where that cannot be, the
/// description of a binary file with the reason. `reply`: as the guest described the file.
[[nodiscard]] Result archive_listing(Context& context, const ReadFile::Args& args,
                                     const protocol::ReadFileReply& reply);

/// What of a listing is shown. `listing`: one entry per line; `whole`: nothing was cut off it;
/// `complaint`: of the program that made it, else empty.
[[nodiscard]] Result listing_report(const protocol::ReadFileReply& reply, std::string_view listing,
                                    bool whole, std::string_view complaint,
                                    const ReadFile::Args& args, const Settings& settings);

} // namespace berth::tools
