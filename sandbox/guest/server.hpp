#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/connection.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/leases.hpp"
#include "sandbox/guest/named_calls.hpp"
#include "sandbox/guest/payload_budget.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace berth::guest {

/// Who may speak to this guest. A token is needed although only the host can reach the socket:
/// SO_PEERCRED cannot tell a server from a command across user namespaces.
struct Credentials {
    std::string token;
    std::string generation;
    protocol::VersionRange versions = {}; ///< that it speaks
};

/// Takes in connections and keeps them. Belongs to the loop's thread.
class Server : public ConnectionOwner {
  public:
    using Handler = std::function<void(const std::shared_ptr<Call>&, protocol::Frame)>;

    /// That have not said hello: the oldest gives way, so that a crowd of silent ones cannot keep
    /// the host out.
    static constexpr std::size_t most_new_comers = 16;
    /// In all; further hellos are answered with busy.
    static constexpr std::size_t most_connections = 128;

    /// `listener`: a listening stream socket. Its file stays when the guest ends: it is in a folder
    /// of the host, outside of the guest's root, and a descriptor of that folder would let commands
    /// climb out of theirs. The host removes it with the machine, at the next launch, or when it
    /// looks for sockets that nobody listens at (sandbox/local/stale_sockets.hpp).
    /// `limits`: of large requests.
    Server(EventLoop& loop, UniqueFd listener, Credentials credentials, Handler handler,
           const PayloadBudget::Limits& limits = {});
    ~Server() override;

    /// Connections that have said hello.
    [[nodiscard]] std::size_t connections() const noexcept;

    /// Servers that have said for how long they are here, and the connections of others that work
    /// here. `without`: those of one server, by the name in its hello.
    [[nodiscard]] std::size_t clients(const std::string& without = {}) const noexcept;

    /// Whether that server has said that it stays, or is taken to: it is a client.
    [[nodiscard]] bool attends(const std::string& server) const
    {
        return attending_.contains(server);
    }

    /// `changed` is called when clients() may be another, and when one has come or left in any
    /// case.
    void on_clients_changed(std::function<void()> changed) { changed_ = std::move(changed); }

    /// `any`: whether there are outcomes that nobody was told of; after a server has left, and
    /// after note_unseen(), each reply says that, until they are told.
    void on_unseen_wanted(std::function<bool()> any) { has_unseen_ = std::move(any); }

    [[nodiscard]] bool has_unseen() noexcept override;

    /// `contacted` is called when somebody connects, and before each request.
    void on_contact(std::function<void()> contacted) { contacted_ = std::move(contacted); }

    /// `departed` is called when a server has gone that had said that it stays.
    void on_departure(std::function<void()> departed) { gone_ = std::move(departed); }

    /// There is an outcome more that nobody was told of. Its server may be here still: it has given
    /// up the call, or the client that was to read the answer has gone.
    void note_unseen() noexcept { may_have_unseen_ = BootClock::now(); }

    /// Whether that server has a connection, or has said for how long it is here.
    [[nodiscard]] bool is_here(const std::string& server) const;

    /// From now on nothing is read any more, of no connection; answers are still sent. For a guest
    /// that ends as soon as it has told somebody that it will.
    void stop_reading() noexcept { reading_ = false; }

    [[nodiscard]] bool is_reading() const noexcept override { return reading_; }

    protocol::HelloReply welcome(const protocol::Hello& hello) override;
    void begin(const std::shared_ptr<Call>& call, protocol::Frame request) override;
    std::shared_ptr<PayloadBudget::Ticket> room_for(const protocol::FrameReader::Announced& request,
                                                    EventLoop::Task granted) override;

    [[nodiscard]] std::chrono::milliseconds patience() const noexcept override
    {
        return budget_.patience();
    }

    void lost(const std::shared_ptr<Call>& call) override;

    void seen(const Call& call) override { named_.seen(call); }

    void client_came(const Connection& connection) override;
    void ends(const Connection& connection) noexcept override;
    void closed(Connection& connection) noexcept override;

  private:
    void accept();
    void pause_accepting();
    void take_word(const protocol::Hello& hello);
    void close_all_of(const std::string& server);
    void forget_server(const std::string& server);

    EventLoop& loop_;
    UniqueFd listener_;
    const Credentials credentials_;
    const Handler handler_;
    std::function<void()> changed_;
    std::function<void()> gone_;
    std::function<void()> contacted_;
    std::function<bool()> has_unseen_;
    /// When a server has left, or there was something to be told; until all is.
    std::optional<BootClock::time_point> may_have_unseen_;
    bool was_unseen_ = false; ///< something was, since then
    PayloadBudget budget_;
    NamedCalls named_;
    Leases leases_;
    std::set<std::string> attending_; ///< servers that have said that they stay
    std::vector<std::shared_ptr<Connection>> connections_; ///< oldest first
    EventLoop::TimerId resume_ = 0;
    bool reading_ = true;
};

} // namespace berth::guest
