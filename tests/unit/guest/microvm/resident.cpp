#include "tests/unit/guest/microvm/resident.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/base/process.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/protocol/opening.hpp"
#include "sandbox/protocol/opening_variables.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/sandbox/programs.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::tests {
namespace {

constexpr const char* token = "the token of this test";
constexpr uid_t nobody = 65534;

std::string read_all(int fd)
{
    std::string all;
    for (;;) {
        std::string part(64UL * 1024, '\0');
        part.resize(read_full(fd, part.data(), part.size()));
        if (part.empty()) {
            return all;
        }
        all += part;
    }
}

Ended run_guest_program(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment, const std::string& input)
{
    auto in = make_pipe();
    auto out = make_pipe();
    auto error = make_pipe();
    SpawnOptions options;
    options.arguments = arguments;
    options.environment = environment;
    options.descriptors = {{in.read.get(), 0}, {out.write.get(), 1}, {error.write.get(), 2}};
    auto process = Process::spawn(BERTH_GUEST_PROGRAM, options);
    in.read.reset();
    out.write.reset();
    error.write.reset();
    write_full(in.write.get(), input); // and it stays open, as envd's does
    Ended ended;
    ended.output = read_all(out.read.get());
    ended.error = read_all(error.read.get());
    const auto status = process.wait(Deadline::after(std::chrono::seconds(30)));
    REQUIRE(status.has_value());
    ended.status = WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
    return ended;
}

} // namespace

std::vector<protocol::Frame> Ended::frames() const
{
    protocol::FrameReader reader(protocol::max_payload_size);
    reader.feed(output);
    std::vector<protocol::Frame> all;
    while (auto frame = reader.next()) {
        all.push_back(*std::move(frame));
    }
    CHECK(reader.empty());
    return all;
}

std::string opening_of(const protocol::Hello& hello, protocol::Operation operation,
                       const std::string& request)
{
    std::string bytes;
    protocol::put_frame(bytes, protocol::FrameType::hello, protocol::encode(hello));
    protocol::put_frame(bytes, protocol::FrameType::request, request,
                        static_cast<std::uint16_t>(operation));
    return bytes;
}

Resident::Resident()
{
    REQUIRE(::chmod(root_.path().c_str(), 0755) == 0);
    std::filesystem::create_directory(folder());
    std::filesystem::create_directory(home());
    REQUIRE(::chown(home().c_str(), nobody, nobody) == 0);
}

Resident::~Resident()
{
    const auto socket = folder() + "/guest.sock";
    if (std::filesystem::exists(socket)) {
        (void)connect(seal(opening_of(hello(), protocol::Operation::shutdown, "")));
        CHECK(becomes_true([&] { return connect(seal("")).status == 4; }));
    }
}

protocol::GuestConfig Resident::config() const
{
    protocol::GuestConfig config;
    config.token = token;
    config.generation = "g1";
    config.home = home();
    config.user = "nobody";
    config.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", home()}};
    config.max_calls = 4;
    config.max_jobs = 4;
    return config;
}

void Resident::upload(const protocol::GuestConfig& config) const
{
    write_file_atomically(AT_FDCWD, folder() + "/config", protocol::encode(config), 0600, false);
}

Ended Resident::reside() const
{
    return run_guest_program({"berth-guest", "reside", folder()}, {}, "");
}

Ended Resident::evict() const
{
    return run_guest_program({"berth-guest", "evict", folder()}, {}, "");
}

protocol::Hello Resident::hello() const
{
    return {.oldest = 1, .newest = 1, .build = "test", .token = token, .generation = "g1"};
}

std::map<std::string, std::string> Resident::seal(const std::string& opening) const
{
    const auto sealed = protocol::seal_opening(protocol::opening_key(token), "g1", opening);
    return protocol::opening_variables(sealed).value();
}

Ended Resident::connect(const std::map<std::string, std::string>& variables,
                        const std::string& input) const
{
    std::vector<std::string> environment;
    for (const auto& [name, value] : variables) {
        environment.push_back(std::string(name).append("=").append(value));
    }
    return run_guest_program({"berth-guest", "connect", folder()}, environment, input);
}

std::string Resident::run(const std::string& command) const
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = command;
    request.timeout = 20'000;
    request.head_limit = 10'000;
    const auto ended =
        connect(seal(opening_of(hello(), protocol::Operation::execute, protocol::encode(request))));
    REQUIRE_MESSAGE(ended.status == 0, ended.error);
    const auto frames = ended.frames();
    REQUIRE(frames.back().type == protocol::FrameType::reply);
    const auto reply = protocol::decode<protocol::ExecuteReply>(frames.back().payload);
    return reply.out.head + std::to_string(reply.exit_code);
}

} // namespace berth::tests
