#include "sandbox/base/process_stat.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <vector>

namespace berth {
namespace {

template <class Number>
Number number_at(const std::vector<std::string_view>& fields, std::size_t i)
{
    Number value{};
    if (i < fields.size()) {
        std::from_chars(fields[i].data(), fields[i].data() + fields[i].size(), value);
    }
    return value;
}

} // namespace

std::optional<ProcessStat> parse_process_stat(pid_t pid, std::string_view text)
{
    // Numbers below are the manual's less 3: the first here is the state.
    // The name in parentheses is the process's own choice and may hold parentheses and spaces.
    const auto name_end = text.rfind(')');
    if (name_end == std::string_view::npos || name_end + 2 >= text.size()) {
        return std::nullopt;
    }
    text.remove_prefix(name_end + 2);
    std::vector<std::string_view> fields;
    while (fields.size() < 20 && !text.empty()) {
        const auto space = std::min(text.find(' '), text.size());
        fields.push_back(text.substr(0, space));
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    if (fields.size() < 20) {
        return std::nullopt;
    }
    ProcessStat stat;
    stat.pid = pid;
    stat.state = fields[0].empty() ? '?' : fields[0].front();
    stat.parent = number_at<pid_t>(fields, 1);
    stat.group = number_at<pid_t>(fields, 2);
    stat.session = number_at<pid_t>(fields, 3);
    stat.threads = number_at<std::uint32_t>(fields, 17);
    stat.start_time = number_at<std::uint64_t>(fields, 19);
    return stat;
}

} // namespace berth
