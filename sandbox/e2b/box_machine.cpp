#include "sandbox/e2b/box_machine.hpp"

#include "sandbox/base/hex.hpp"
#include "sandbox/e2b/box_channel.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "sandbox/e2b/retry.hpp"
#include "sandbox/e2b/way_errors.hpp"
#include "sandbox/protocol/opening.hpp"
#include "sandbox/protocol/opening_variables.hpp"
#include "sandbox/wait_for.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace berth::e2b {
namespace {

constexpr int gone_or_asleep = 502;
constexpr int other_token = 401; ///< by envd; the proxy before it says 403
constexpr int other_token_too = 403;
constexpr int too_many = 429;
/// Between attempts that envd has certainly not taken.
constexpr std::array<std::chrono::milliseconds, 4> rests{
    std::chrono::milliseconds(0), std::chrono::milliseconds(500), std::chrono::milliseconds(1500),
    std::chrono::milliseconds(4000)};
/// A box that is woken takes seconds; E2B gives up one after 70.
constexpr std::chrono::seconds patience{60};

class BoxMachine : public sandbox::Machine {
  public:
    BoxMachine(std::shared_ptr<Link> link, sandbox::MachineRecord record,
               std::shared_ptr<RunningBox> box, std::chrono::milliseconds lease)
        : link_(std::move(link)), record_(std::move(record)), box_(std::move(box)), lease_(lease)
    {
    }

    [[nodiscard]] const sandbox::MachineRecord& record() const noexcept override { return record_; }

    [[nodiscard]] const std::vector<sandbox::Layer>& layers() const noexcept override
    {
        return box_layers();
    }

    [[nodiscard]] std::unique_ptr<sandbox::Channel> connect(const Deadline& /*deadline*/) override
    {
        throw Error(ErrorCode::internal, "no connection to a sandbox of E2B is kept");
    }

    [[nodiscard]] std::unique_ptr<sandbox::Channel> open(const Deadline& deadline,
                                                         std::string_view opening,
                                                         const std::string& token,
                                                         const std::stop_token& stop) override;

    [[nodiscard]] std::unique_ptr<sandbox::Channel> open_awake(const Deadline& deadline,
                                                               std::string_view opening,
                                                               const std::string& token) override;

    [[nodiscard]] sandbox::Reach reach() const noexcept override
    {
        return {.kept = false,
                .opening = protocol::longest_opening_in_variables - protocol::opening_overhead,
                .lease = lease_,
                .patience = patience};
    }

    void expect(std::chrono::milliseconds time) noexcept override { box_->expect(time); }

    void rests_after(std::chrono::milliseconds idle) noexcept override
    {
        box_->set_idle(idle_time(idle));
    }

    [[nodiscard]] bool may_sleep() const noexcept override { return box_->may_sleep(); }

    [[nodiscard]] std::optional<std::chrono::milliseconds> sleeps_in() const noexcept override
    {
        return box_->sleeps_in();
    }

    bool suspend(const Deadline& deadline) override
    {
        // Where it is to be asked for again, not much later: others may work in the box by then.
        constexpr std::chrono::seconds soon{10};
        box_->pause(Deadline::earlier(deadline, Deadline::after(soon)));
        return true;
    }

  private:
    [[nodiscard]] std::shared_ptr<EnvdClient> awake(const Deadline& deadline,
                                                    const std::stop_token& stop);
    [[nodiscard]] ProcessStart connector(std::string_view opening, const std::string& token) const;
    [[nodiscard]] std::string guest() const;
    [[nodiscard]] std::unique_ptr<BoxChannel>
    start(std::shared_ptr<EnvdClient> envd, const ProcessStart& process, const Deadline& deadline);
    [[nodiscard]] bool may_try_again(const StatusError& refusal, const EnvdClient* envd);
    static void require_refused(const StatusError& refusal);

    const std::shared_ptr<Link> link_;
    const sandbox::MachineRecord record_;
    const std::shared_ptr<RunningBox> box_;
    const std::chrono::milliseconds lease_;
};

/// Waking it is no part of the call: what fails here has given the guest nothing. One that is not
/// known to sleep is not said to.
std::shared_ptr<EnvdClient> BoxMachine::awake(const Deadline& deadline, const std::stop_token& stop)
{
    using Of = sandbox::Unsent::Of;
    try {
        auto envd = box_->awake(deadline, stop);
        if (stop.stop_requested()) { // a cancel comes behind the request, which would be done
            throw Error(ErrorCode::cancelled, "the call was cancelled while its sandbox woke");
        }
        return envd;
    } catch (const StatusError& error) { // a 404 of the control plane is the proof
        if (error.code() == ErrorCode::session_lost) {
            throw sandbox::Unsent(error, Of::gone);
        }
        throw sandbox::Unsent(not_woken(error, !box_->may_sleep()), Of::way_there);
    } catch (const Error& error) {
        throw sandbox::Unsent(not_woken(error, !box_->may_sleep()), Of::way_there);
    }
}

std::string BoxMachine::guest() const
{
    try {
        return guest_path_of(record_);
    } catch (const Error& error) { // nothing was asked of anybody
        throw sandbox::Unsent(error, sandbox::Unsent::Of::way_there);
    }
}

/// The way there is read by others: envd's log has the environment of each process.
ProcessStart BoxMachine::connector(std::string_view opening, const std::string& token) const
{
    const auto sealed =
        protocol::seal_opening(protocol::opening_key(token), record_.generation, opening);
    auto variables = protocol::opening_variables(sealed);
    if (!variables) {
        throw Error(ErrorCode::internal, "the beginning of a call is too long for E2B");
    }
    return {.command = guest(),
            .arguments = {"connect", guest_folder},
            .environment = *std::move(variables),
            .working_directory = "/",
            .user = "root"};
}

std::unique_ptr<sandbox::Channel> BoxMachine::open(const Deadline& deadline,
                                                   std::string_view opening,
                                                   const std::string& token,
                                                   const std::stop_token& stop)
{
    const auto process = connector(opening, token);
    std::optional<Error> last;
    std::chrono::milliseconds asked_for{0};
    for (const auto rest : rests) {
        sandbox::wait_for(spread(std::max(rest, asked_for), random_part()), stop);
        if (last && (deadline.expired() || stop.stop_requested())) {
            break;
        }
        auto envd = awake(deadline, stop);
        try {
            return start(envd, process, deadline);
        } catch (const StatusError& refusal) {
            if (refusal.status() == gone_or_asleep) {
                box_->doubt(envd.get());
            }
            require_refused(refusal);
            if (!may_try_again(refusal, envd.get())) {
                throw sandbox::Unsent(as_of_envd(refusal), sandbox::Unsent::Of::way_there);
            }
            last = as_of_envd(refusal);
            asked_for = refusal.retry_after().value_or(std::chrono::seconds(0));
            if (const int left = deadline.poll_timeout(); left >= 0 && asked_for.count() > left) {
                break; // earlier it would be refused again
            }
        } catch (const HttpFailure& failure) {
            if (!failure.unsent()) {
                throw sandbox::Unanswered(failure);
            }
            last = failure;
            asked_for = {};
        }
    }
    throw sandbox::Unsent(*last, sandbox::Unsent::Of::way_there);
}

/// Nobody is asked whether it runs: whoever asked for more than that would wake it.
std::unique_ptr<sandbox::Channel>
BoxMachine::open_awake(const Deadline& deadline, std::string_view opening, const std::string& token)
{
    using Of = sandbox::Unsent::Of;
    auto envd = box_->if_awake();
    if (!envd) {
        throw sandbox::Unsent(Error(ErrorCode::sandbox_unavailable, "the sandbox may sleep"),
                              Of::way_there);
    }
    try {
        return start(envd, connector(opening, token), deadline);
    } catch (const StatusError& refusal) {
        require_refused(refusal); // a gateway's page is no doubt that it runs
        static_cast<void>(may_try_again(refusal, envd.get())); // the next call does
        throw sandbox::Unsent(refusal, Of::way_there);
    } catch (const HttpFailure& failure) {
        if (failure.unsent()) {
            throw sandbox::Unsent(failure, Of::way_there);
        }
        throw sandbox::Unanswered(failure);
    }
}

/// Returns once the guest has spoken. A refusal after the start of the process is none of the
/// start.
std::unique_ptr<BoxChannel> BoxMachine::start(std::shared_ptr<EnvdClient> envd,
                                              const ProcessStart& process, const Deadline& deadline)
{
    auto stream = envd->start(process);
    auto channel = std::make_unique<BoxChannel>(std::move(envd), std::move(stream));
    channel->await_guest(deadline);
    return channel;
}

/// A 502 says only that it does not run: awake() has the control plane say why, and wakes it; its
/// token may be another then.
bool BoxMachine::may_try_again(const StatusError& refusal, const EnvdClient* envd)
{
    if (refusal.status() == gone_or_asleep || refusal.status() == other_token ||
        refusal.status() == other_token_too) {
        box_->doubt(envd);
        return true;
    }
    return refusal.status() == too_many || refusal.code() == ErrorCode::busy; // between two states
}

/// Throws Unanswered for what says nothing of the guest: a proxy may have passed the call on before
/// it gave up. Whoever asks again by the call's name learns what was done.
void BoxMachine::require_refused(const StatusError& refusal)
{
    if (leaves_open(refusal)) {
        throw sandbox::Unanswered(refusal);
    }
}

} // namespace

const std::vector<sandbox::Layer>& box_layers()
{
    static const std::vector<sandbox::Layer> layers{
        {"microvm", true, "a virtual machine of E2B's: a kernel, memory and a disk of its own"},
        {"cgroup-memory", false, "the sandbox has the memory of its template, whatever is set"},
        {"cgroup-cpu", false, "the sandbox has the processors of its template, whatever is set"}};
    return layers;
}

std::string guest_path(const std::string& hash)
{
    constexpr std::size_t enough = 16;
    return "/usr/local/lib/berth/guest-" + hash.substr(0, enough);
}

std::unique_ptr<sandbox::Machine> make_box_machine(std::shared_ptr<Link> link,
                                                   sandbox::MachineRecord record,
                                                   std::shared_ptr<RunningBox> box,
                                                   std::chrono::milliseconds lease)
{
    return std::make_unique<BoxMachine>(std::move(link), std::move(record), std::move(box), lease);
}

std::string value_of(const sandbox::MachineRecord& record, const char* key)
{
    const auto found = record.data.find(key);
    return found == record.data.end() ? std::string() : found->second;
}

std::string guest_path_of(const sandbox::MachineRecord& record)
{
    const auto hash = value_of(record, record_keys::guest);
    if (hash.empty() || hash.find_first_not_of(small_hex_digits) != std::string::npos) {
        throw Error(ErrorCode::backend_error,
                    "the record of the sandbox " + record.id +
                        " names a program as its guest that cannot be one; nothing was run there",
                    "`berth sessions kill` ends the session and keeps its files: the next call "
                    "installs a guest again. Who can write to its books?");
    }
    return guest_path(hash);
}

std::chrono::milliseconds idle_of(const sandbox::MachineRecord& record)
{
    const auto text = value_of(record, record_keys::idle);
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    static_cast<void>(end);
    return std::chrono::milliseconds(error == std::errc() ? count : 0);
}

} // namespace berth::e2b
