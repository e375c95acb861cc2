#pragma once

#include "sandbox/protocol/messages.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace berth::tools::test {

/// What the guest says of a text file with these lines, `first` being their first of `total`; 0:
/// they are all.
inline protocol::ReadFileReply text_reply(const std::string& content, std::uint64_t first = 1,
                                          std::uint64_t total = 0)
{
    protocol::ReadFileReply reply;
    reply.path = "/home/user/a.txt";
    reply.content = content;
    reply.size = content.size();
    reply.first_line = content.empty() ? 0 : first;
    reply.line_count =
        static_cast<std::uint64_t>(std::count(content.begin(), content.end(), '\n')) +
        (content.empty() || content.ends_with('\n') ? 0 : 1);
    reply.total_lines = total == 0 ? reply.line_count : total;
    reply.encoding = "utf-8";
    reply.line_ending = "lf";
    reply.final_newline = content.ends_with('\n');
    return reply;
}

} // namespace berth::tools::test
