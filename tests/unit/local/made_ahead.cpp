#include "tests/unit/local/made_ahead.hpp"

#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include <sys/prctl.h>
#include <unistd.h>

namespace berth::local::test {
namespace {

std::vector<pid_t> processes()
{
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") == std::string::npos) {
            found.push_back(static_cast<pid_t>(std::stoi(name)));
        }
    }
    return found;
}

/// That child of this process's waiting launcher; -1: there is none that lives.
pid_t made_ahead(const std::string& name)
{
    for (const pid_t pid : processes()) {
        const auto parent = field(pid, "PPid"); // empty where it has just ended
        if (field(pid, "Name") == name && !parent.empty() &&
            !field(pid, "State").starts_with("Z") &&
            field(static_cast<pid_t>(std::stoi(parent)), "PPid") == std::to_string(::getpid())) {
            return pid;
        }
    }
    return -1;
}

/// Has the socket of a guest-to-be, which is the last that it makes ahead.
bool has_socket_ahead(pid_t launcher)
{
    std::set<std::string> ahead;
    std::istringstream lines(read_text("/proc/net/unix"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
        constexpr std::size_t number = 6; // proc_net(5), and behind it the path
        if (fields.size() > number + 1 && fields.back().find("/ahead") != std::string::npos) {
            ahead.insert("socket:[" + fields[number] + "]");
        }
    }
    std::error_code gone;
    const auto open = "/proc/" + std::to_string(launcher) + "/fd";
    return std::ranges::any_of(
        std::filesystem::directory_iterator(open, gone), [&](const auto& entry) {
            return ahead.contains(std::filesystem::read_symlink(entry.path(), gone).string());
        });
}

} // namespace

bool makes_ahead()
{
    int* address = nullptr;
    return is_root() && ::prctl(PR_GET_TID_ADDRESS, &address) == 0;
}

std::string field(pid_t pid, const std::string& name)
{
    std::istringstream lines(read_text("/proc/" + std::to_string(pid) + "/status"));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name + ":\t")) {
            return line.substr(name.size() + 2);
        }
    }
    return "";
}

pid_t keeper()
{
    return made_ahead("berth-ahead");
}

pid_t next_guest()
{
    return made_ahead("berth-next");
}

bool launcher_waits()
{
    return std::ranges::any_of(processes(), [](pid_t pid) {
        return field(pid, "Name") == "berth-launcher" &&
               field(pid, "PPid") == std::to_string(::getpid()) &&
               field(pid, "State").starts_with("S");
    });
}

pid_t ready_keeper(const Bench& bench)
{
    pid_t found = -1;
    REQUIRE(tests::becomes_true([&] {
        found = keeper();
        const auto root = "/proc/" + std::to_string(found) + "/root";
        return found > 0 && exists(root + "/dev/pts/ptmx") && !exists(root + bench.directory()) &&
               field(found, "State").starts_with("S") &&
               has_socket_ahead(static_cast<pid_t>(std::stoi(field(found, "PPid"))));
    }));
    return found;
}

} // namespace berth::local::test
