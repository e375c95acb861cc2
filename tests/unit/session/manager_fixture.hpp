#pragma once

#include "sandbox/base/host_time.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::tests {

inline const session::SessionId work{"ann", "work", {}};

/// A state directory and a backend of fakes, and servers on them.
struct ManagerFixture {
    TemporaryDirectory directory;
    session::Settings settings = make_settings();
    std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>(directory / "machines");

    [[nodiscard]] session::Settings make_settings() const
    {
        session::Settings result;
        result.state_directory = directory / "state";
        result.lock_wait = std::chrono::seconds(5);
        return result;
    }

    [[nodiscard]] std::unique_ptr<session::SessionManager> start() const
    {
        return std::make_unique<session::SessionManager>(settings, backend);
    }

    [[nodiscard]] std::string folder(const session::SessionId& id) const
    {
        return settings.state_directory + "/sessions/" + session::key_hash(id);
    }

    [[nodiscard]] static std::string text_of(const std::string& path)
    {
        return read_file_limited(AT_FDCWD, path, 100'000);
    }

    void end_machine(const session::SessionId& id) const
    {
        std::filesystem::remove(backend->alive(session::key_hash(id)));
    }

    void set_age(const session::SessionId& id, std::chrono::seconds age) const
    {
        const auto then =
            std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() - age);
        const std::array<timespec, 2> times{timespec{.tv_sec = then, .tv_nsec = 0},
                                            timespec{.tv_sec = then, .tv_nsec = 0}};
        REQUIRE(::utimensat(AT_FDCWD, (folder(id) + "/record.json").c_str(), times.data(), 0) == 0);
        auto used = HostTime::now();
        used.up -= age;
        used.wall -= age;
        note_use(id, used);
    }

    /// When it was used last, by the clock that nobody sets.
    void note_use(const session::SessionId& id, const HostTime& used) const
    {
        write_file_atomically(AT_FDCWD, folder(id) + "/used", to_text(used), 0600, false);
    }
};

/// The agent reads what it is told.
inline const session::Lease& read(const session::Lease& lease)
{
    for (const auto& receipt : lease.receipts) {
        receipt->acknowledge();
    }
    return lease;
}

/// That alone; it is read.
inline bool says(const session::Lease& lease, const std::string& words)
{
    read(lease);
    return lease.notices.size() == 1 && lease.notices[0].find(words) != std::string::npos;
}

} // namespace berth::tests
