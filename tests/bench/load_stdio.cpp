#include "sandbox/base/unique_fd.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/load_figures.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::bench {
namespace {

constexpr std::string_view head = R"({"jsonrpc":"2.0","id":)";

/// The id of an answer; -1: it is none. Servers write it first or last, else all is read.
int id_of(std::string_view line)
{
    constexpr std::string_view name = R"("id":)";
    const auto at = line.starts_with(head) ? head.size() : line.rfind(name) + name.size();
    int id = -1;
    const char* const end = line.data() + line.size();
    if (line.find("\"method\":") == std::string_view::npos && at <= line.size()) {
        const auto [stopped, error] = std::from_chars(line.data() + at, end, id);
        if (error == std::errc() && (stopped + 1 == end || line.starts_with(head))) {
            return id;
        }
    }
    return nlohmann::json::parse(line).value("id", -1);
}

class StdioLoad final : public Load {
  public:
    explicit StdioLoad(const std::vector<std::string>& command)
    {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error("pipe");
        }
        const UniqueFd its_input(in[0]);
        const UniqueFd its_output(out[1]);
        to_ = UniqueFd(in[1]);
        from_ = UniqueFd(out[0]);
        start(command, its_input.get(), its_output.get());
        ask_once(initialize);
        send(std::string(initialized) + '\n');
    }

    ~StdioLoad() override
    {
        to_.reset();
        ::waitpid(server_, nullptr, 0);
    }

    StdioLoad(const StdioLoad&) = delete;
    StdioLoad& operator=(const StdioLoad&) = delete;

    void run(std::size_t callers, std::chrono::milliseconds time,
             const std::string& params) override
    {
        tail_ = ",\"method\":\"tools/call\",\"params\":" + params + "}\n";
        sent_.assign(callers, {});
        Figures figures;
        const auto end = Clock::now() + time;
        std::string batch;
        for (std::size_t i = 0; i < callers; ++i) {
            call(batch, i);
        }
        for (auto waiting = callers; waiting > 0;) {
            send(batch);
            batch.clear();
            each_line([&](std::string_view line) {
                const auto id = id_of(line);
                if (id < 0) {
                    return;
                }
                const auto now = Clock::now();
                const auto caller = static_cast<std::size_t>(id) % callers;
                figures.answered(now - sent_[caller]);
                if (has_failed(line)) {
                    figures.failed();
                }
                if (now < end) {
                    call(batch, caller);
                } else {
                    --waiting;
                }
            });
        }
        figures.print();
    }

  private:
    void start(const std::vector<std::string>& command, int input, int output)
    {
        std::vector<char*> words;
        for (const auto& word : command) {
            words.push_back(const_cast<char*>(word.c_str())); // posix_spawn does not change it
        }
        words.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        const int error =
            ::posix_spawnp(&server_, words[0], &actions, nullptr, words.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        if (error != 0) {
            throw std::runtime_error(command.front() + " cannot be started");
        }
    }

    void ask_once(const std::string& request)
    {
        send(std::string(head) + "0," + request + '\n');
        for (bool answered = false; !answered;) {
            each_line([&](std::string_view line) { answered = answered || id_of(line) == 0; });
        }
    }

    /// One id for each caller and call: no two in flight are the same.
    void call(std::string& batch, std::size_t caller)
    {
        const auto id = (next_++ % 1'000'000) * sent_.size() + caller;
        batch += head;
        batch += std::to_string(id);
        batch += tail_;
        sent_[caller] = Clock::now();
    }

    /// All that is in flight has room in the pipe, so this never waits for a server that waits for
    /// us.
    void send(std::string_view data) const
    {
        while (!data.empty()) {
            const auto count = ::write(to_.get(), data.data(), data.size());
            if (count < 0 && errno != EINTR) {
                throw std::runtime_error("the server has ended");
            }
            data.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        }
    }

    /// Waits for bytes, and takes the lines that are whole then.
    template <class Take>
    void each_line(Take take)
    {
        std::array<char, 65536> piece; // NOLINT(*-member-init): not filled each time
        const auto count = ::read(from_.get(), piece.data(), piece.size());
        if (count <= 0) {
            throw std::runtime_error("the server has ended");
        }
        got_.append(piece.data(), static_cast<std::size_t>(count));
        std::size_t begin = 0;
        for (auto end = got_.find('\n'); end != std::string::npos; end = got_.find('\n', begin)) {
            take(std::string_view(got_).substr(begin, end - begin));
            begin = end + 1;
        }
        got_.erase(0, begin);
    }

    pid_t server_ = -1;
    UniqueFd to_;
    UniqueFd from_;
    std::string got_;
    std::string tail_;
    std::vector<Clock::time_point> sent_; ///< of each caller's call
    std::size_t next_ = 1;
};

} // namespace

std::unique_ptr<Load> stdio_load(const std::vector<std::string>& command)
{
    return std::make_unique<StdioLoad>(command);
}

} // namespace berth::bench
