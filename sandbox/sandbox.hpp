#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/given_up_calls.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/receipt.hpp"
#include "sandbox/turns.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace berth::sandbox {

class GuestConnection;
class LateWords;
struct Answer;
struct Exchange;
struct Introduction;

/// Takes the data frames of an export, in order.
using DataSink = std::function<void(std::string_view)>;
/// Gives the data of an import: the next piece, empty at the end. Called on a thread of its own,
/// and no more once the call has returned.
using DataSource = std::function<std::string()>;
/// Takes what a command prints while its call waits, on the thread of the call; must not block.
/// What it throws ends the call.
using Printed = std::function<void(const protocol::PrintedTail&)>;

/// Of a request that comes before a call: how the call would wait for a machine that sleeps.
struct CallToCome {
    std::chrono::milliseconds time{0}; ///< that a command has; 0: the call has none of its own
    std::stop_token stop = {};         ///< nobody wants it any more; once it was sent, not heard
};

/// The typed client of one machine's guest. Thread-safe: every call in flight has a connection of
/// its own from a small pool, so a broken call breaks alone.
///
/// A call that changes something has a name, and is sent again, at most three times, when its
/// connection breaks and the guest lives: that answers it, and never does it twice. With a guest of
/// a release that knew no names, and where all that fails, it is Error(session_lost).
///
/// All calls throw berth::Error: what the guest answered, Error(cancelled) after a stop request,
/// Error(session_lost) when the machine is gone, as Unsent while that is certain. A stop request is
/// passed on to the guest, which ends the operation; execute() then still returns a reply (fate
/// cancelled) with what there was. A guest that does not answer it within `cancel_time` loses the
/// connection.
class Sandbox {
  public:
    static constexpr std::chrono::seconds cancel_time{5};
    /// Connections that are kept for the next call. They count among the 128 that the guest takes
    /// from all servers of the session: with more, a few that once had much to do and are idle
    /// would shut the next one out. A new one costs a tenth of a millisecond.
    static constexpr std::size_t most_idle = 2;
    /// Calls at once; the others wait for their turn, and are served in the order they came;
    /// ping(), info() and shutdown() do no work and do not wait. With the idle ones fewer than
    /// those 128, so that there is room for these, for another server and for `berth status`.
    static constexpr std::size_t most_calls = 112;
    /// Commands among them. The others are quick, and never wait for these.
    static constexpr std::size_t most_commands = 96;

    /// `token`: the guest's secret, which is shown on every new connection together with the
    /// generation of the machine's record. Makes no connection yet.
    /// `patience`: how long the guest may be silent until it is asked whether it is there, and
    /// may take to say so.
    Sandbox(std::unique_ptr<Machine> machine, std::string token,
            std::chrono::milliseconds patience = std::chrono::seconds(10));
    ~Sandbox();
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;

    [[nodiscard]] Machine& machine() noexcept { return *machine_; }

    void ping(const std::stop_token& stop = {});
    /// `receipt`: as that of execute(), for a request that claims what nobody has seen. `next`: a
    /// machine that sleeps is waited for as by that call.
    [[nodiscard]] protocol::InfoReply info(const std::stop_token& stop = {},
                                           const protocol::InfoRequest& request = {},
                                           Receipt* receipt = nullptr,
                                           const CallToCome* next = nullptr);

    /// As info(), on a connection of its own, of a guest that may be stuck, or too old for any
    /// call.
    [[nodiscard]] protocol::InfoReply look(const Deadline& deadline);

    /// The same for who only wants to know, and what is not worth a wake nor more time for the
    /// machine: where its host has it sleep, or may, it throws Unsent. Asks again where the way
    /// there fails, until the deadline. `shown`: filled where how jobs ended is shown to an agent,
    /// who then need not be told again (InfoRequest::shows_ends).
    [[nodiscard]] protocol::InfoReply glance(const Deadline& deadline, Receipt* shown = nullptr);

    /// What `info` tells of pauses, of a machine whose host has it sleep and whose guest does not
    /// know when: `pause` is the host's then, and says no more than that where it is not known.
    void tell_host_pause(protocol::InfoReply& info) const;

    /// From now on, until this is destroyed, the guest knows that somebody works here, whether or
    /// not there is a call: what it does when the last client leaves is not done. When the guest
    /// cannot be reached now, or the connection that tells it breaks, the next calls try again.
    void attend() noexcept;

    /// Freezes what runs in the machine until the next call, or resume(). Throws Error(busy) while
    /// a call is in flight, Error(unsupported) for a guest of a release that could not.
    [[nodiscard]] protocol::PauseReply pause();
    [[nodiscard]] protocol::ResumeReply resume();

    /// What of it holds from now on. Nothing, where the guest is of a release that could not.
    [[nodiscard]] protocol::Terms change_terms(const protocol::Terms& wanted);

    /// Ends the machine if nobody else uses it: no other client, no call and no job, also none that
    /// sleeps. A call that comes a moment later has not begun. False: somebody does, or the guest
    /// is of a release that cannot tell. Throws OtherVersion for one that is newer than what this
    /// speaks; one that is too old for any call ends. `with_jobs`: calls and jobs of nobody who is
    /// there end with it.
    [[nodiscard]] bool retire(bool with_jobs = false);

    using Values = std::map<std::string, std::string>;

    /// For commands that follow: brings the values of secrets that they must not have to what puts
    /// them in on the way out, and returns what they have in their place, by name. Empty of none.
    /// `withheld` reads them (not called by two at once, so that of two calls none brings an older
    /// value behind a newer one); what it throws comes out; empty: there are none.
    [[nodiscard]] Values placeholders(const std::function<Values()>& withheld);

    /// `printed`: for a request with `progress`; a guest of an earlier release never calls it.
    /// `receipt`: filled for a request with `acknowledge`, which may not go without; it has the
    /// call's connection until then.
    [[nodiscard]] protocol::ExecuteReply execute(const protocol::ExecuteRequest& request,
                                                 const std::stop_token& stop,
                                                 const Printed& printed = {},
                                                 Receipt* receipt = nullptr);
    /// Of jobs, whichever server of the session started them. A stop request ends the waiting, not
    /// the job. `receipt`: as for execute(), of an answer that tells the end.
    [[nodiscard]] protocol::JobOutputReply job_output(const protocol::JobOutputRequest& request,
                                                      const std::stop_token& stop,
                                                      const Printed& printed = {},
                                                      Receipt* receipt = nullptr);
    [[nodiscard]] protocol::JobInputReply job_input(const protocol::JobInputRequest& request,
                                                    const std::stop_token& stop);
    [[nodiscard]] protocol::JobKillReply job_kill(const protocol::JobKillRequest& request,
                                                  const std::stop_token& stop,
                                                  Receipt* receipt = nullptr);
    [[nodiscard]] protocol::ReadFileReply read_file(const protocol::ReadFileRequest& request,
                                                    const std::stop_token& stop);
    [[nodiscard]] protocol::WriteFileReply write_file(const protocol::WriteFileRequest& request,
                                                      const std::stop_token& stop);
    [[nodiscard]] protocol::EditFileReply edit_file(const protocol::EditFileRequest& request,
                                                    const std::stop_token& stop);
    [[nodiscard]] protocol::PatchFilesReply patch_files(const protocol::PatchFilesRequest& request,
                                                        const std::stop_token& stop);
    [[nodiscard]] protocol::GlobReply glob(const protocol::GlobRequest& request,
                                           const std::stop_token& stop);
    [[nodiscard]] protocol::GrepReply grep(const protocol::GrepRequest& request,
                                           const std::stop_token& stop);
    [[nodiscard]] protocol::ExportReply export_files(const protocol::ExportRequest& request,
                                                     const DataSink& sink,
                                                     const std::stop_token& stop);
    [[nodiscard]] protocol::ImportReply import_files(const protocol::ImportRequest& request,
                                                     const DataSource& source,
                                                     const std::stop_token& stop);

    /// The client has left: from now on a stop request does not end a command. Its connection is
    /// closed, the guest keeps the command as a job, and execute() throws Error(cancelled).
    void leave_commands() noexcept { leaving_ = true; }

    /// Asks the guest to end the machine.
    void shutdown();

    /// Of a machine to which no connection is kept: this server is not there any more, and what is
    /// still to be said of answers is. Says how many others are; nothing where connections are
    /// kept, whose end says the same. Wakes no machine.
    std::optional<std::uint32_t> leave(const Deadline& deadline);

    /// Whether an answer has said since the last time that another server has left, and that there
    /// are outcomes which nobody was told of. info() with claim_unseen has them.
    [[nodiscard]] bool take_unseen() noexcept { return unseen_.exchange(false); }

    /// For a disk to take what was written.
    static constexpr std::chrono::seconds longest_sync{5};

    /// Before a machine is suspended by its host: what was written in it goes to its disk, so that
    /// it is there whatever its host makes of its memory. A machine that sleeps is not woken.
    void sync(std::chrono::milliseconds patience) noexcept;

    /// It is to sleep when it has not been used for so long; 0: never by this server.
    void rests_after(std::chrono::milliseconds idle) noexcept;

    /// When rest() is due, should no call come before; on_words_due() is told of it too. Nothing:
    /// it sleeps, or shall not.
    [[nodiscard]] std::optional<BootClock::time_point> rest_due() const noexcept;

    /// Has it sleep, where no call, job or other server is there; else it is due later.
    void rest() noexcept;

    // ---- of a machine to which no connection is kept; of others there is nothing to say late

    /// When it must be said of answers that they were had, should no call come before and take that
    /// along; `changed` is called with such a time (see LateWords).
    [[nodiscard]] std::optional<BootClock::time_point> words_due() const;
    void on_words_due(std::function<void(BootClock::time_point)> changed);

    /// Says it, in a request of its own, and while jobs run that this server is there, as one whose
    /// connections are kept. A machine that sleeps is not woken, nor one kept awake.
    void say_words(const Deadline& deadline) noexcept;

  private:
    struct Borrowed;
    struct Kept;
    struct Answered;
    class Broken;
    class Use;

    template <class Reply, class Request>
    Reply call(protocol::Operation operation, const Request& request, const std::stop_token& stop,
               std::chrono::milliseconds time = {}, const DataSink* sink = nullptr,
               const DataSource* source = nullptr, const Printed* printed = nullptr,
               Kept* kept = nullptr, const CallToCome* next = nullptr);
    [[nodiscard]] bool left(const Exchange& exchange) const noexcept;
    [[nodiscard]] Answered ask(const Exchange& asked);
    [[nodiscard]] Answered ask_again(const Exchange& asked);
    [[nodiscard]] Answered take_answer(std::unique_ptr<GuestConnection> connection,
                                       const Exchange& exchange);
    [[nodiscard]] std::unique_ptr<GuestConnection> connect_later(const Deadline& deadline,
                                                                 const Introduction& introduction,
                                                                 const std::stop_token& stop,
                                                                 bool wakes = true);
    [[nodiscard]] Answered repeat(const Exchange& first, const Broken& cause, bool data_given);
    [[nodiscard]] std::unique_ptr<GuestConnection>
    connect_again(const Exchange& first, const std::stop_token& stop, const Deadline& until);
    void judge_repetition(Answered& answered, bool imports, bool stopped);
    void ask_no_more(const Exchange& exchange, bool cancelled);
    [[nodiscard]] bool is_used_by_others();
    [[nodiscard]] Introduction introduction() const;
    [[nodiscard]] Borrowed borrow(bool fresh, const Exchange& exchange);
    [[nodiscard]] bool is_alive() const;
    [[nodiscard]] std::function<bool()> asking() const;
    [[nodiscard]] std::unique_ptr<GuestConnection>
    connect(const std::stop_token& stop, const Deadline& until, std::chrono::milliseconds way);
    [[nodiscard]] std::unique_ptr<GuestConnection> try_to_connect(const Deadline& deadline,
                                                                  const Introduction& introduction,
                                                                  const std::stop_token& stop = {});
    [[nodiscard]] Answer ask_any_version(protocol::Operation operation, const Deadline& deadline,
                                         std::string_view request = {});
    void keep_attending() noexcept;
    void note_jobs(bool any) const;
    void keep(Kept kept, bool acknowledge, Receipt* receipt, std::shared_ptr<void> place = nullptr);
    void keep_end(Kept kept, bool acknowledge, Receipt* receipt);
    template <class Reply>
    Reply manage(protocol::Operation operation);

    std::unique_ptr<Machine> machine_;
    std::string token_;
    const std::string server_; ///< what the guest knows this by
    const Reach reach_;
    const std::chrono::milliseconds patience_;
    std::atomic<bool> leaving_ = false;
    std::atomic<bool> unseen_ = false; ///< see take_unseen()
    Turns calls_{most_calls};
    Turns commands_{most_commands};
    std::shared_ptr<LateWords> words_; ///< null where connections are kept
    GivenUpCalls given_up_;            ///< where they are kept
    std::shared_ptr<ConnectionPool> idle_ = std::make_shared<ConnectionPool>(most_idle);
    std::atomic<int> uses_ = 0; ///< calls in flight that work there
    std::atomic<BootClock::time_point> last_use_ = BootClock::now();
    std::atomic<BootClock::time_point> rest_not_before_ = BootClock::time_point();
    std::atomic<std::chrono::milliseconds> rests_after_ = std::chrono::milliseconds(0);
    std::atomic<bool> attends_ = false;
    std::atomic<bool> left_ = false;              ///< leave(): it does not attend again
    std::mutex bringing_;                         ///< of the values of secrets
    std::mutex attending_mutex_;                  ///< guards what follows
    std::unique_ptr<GuestConnection> attending_;  ///< never used
    BootClock::time_point attend_again_;          ///< when it is looked after next
    std::atomic<bool> attending_doubted_ = false; ///< at once: another connection broke
};

} // namespace berth::sandbox
