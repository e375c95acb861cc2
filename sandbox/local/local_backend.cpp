#include "sandbox/local/local_backend.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/attachment.hpp"
#include "sandbox/local/blockers.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/cgroup_limits.hpp"
#include "sandbox/local/cgroup_slots.hpp"
#include "sandbox/local/creation.hpp"
#include "sandbox/local/destroy.hpp"
#include "sandbox/local/expected.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/feasible.hpp"
#include "sandbox/local/home_limit.hpp"
#include "sandbox/local/host.hpp"
#include "sandbox/local/host_files.hpp"
#include "sandbox/local/launchers.hpp"
#include "sandbox/local/layers.hpp"
#include "sandbox/local/local_errors.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/mount_rules.hpp"
#include "sandbox/local/move_home.hpp"
#include "sandbox/local/plan.hpp"
#include "sandbox/local/privilege.hpp"
#include "sandbox/local/process_identity.hpp"
#include "sandbox/local/record_origin.hpp"
#include "sandbox/local/runtime_folder.hpp"
#include "sandbox/local/session_folder.hpp"
#include "sandbox/local/session_proxy.hpp"
#include "sandbox/local/spare_folders.hpp"
#include "sandbox/local/stale_sockets.hpp"
#include "sandbox/local/trust_files.hpp"
#include "sandbox/local/uid_range.hpp"
#include "sandbox/local/unseen_guest.hpp"
#include "sandbox/state_directory.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace berth::local {
namespace {

/// `slot`: of the cgroups that were made ahead, where they were.
void require_launched(const LaunchResult& result, const std::string& slot,
                      const std::string& session)
{
    if (!slot.empty() && is_lost_slot(result)) {
        throw SlotLost(unavailable(explain(result, "", session)));
    }
    if (!result.ok) {
        throw unavailable(explain(result, "", session));
    }
}

/// Of the kernel, where a user has no other number.
constexpr unsigned nobody = 65534;

class LocalBackend final : public sandbox::Backend {
  public:
    explicit LocalBackend(Settings settings)
        : settings_(std::move(settings)),
          no_own_uids_(::geteuid() == 0 ? no_own_uids(settings_.uid_base, settings_.uid_count)
                                        : "berth does not run as root"),
          launchers_(settings_.launcher_program, settings_.guest_in_launcher,
                     std::chrono::seconds(30), [this] { renew_spares(); })
    {
    }

    [[nodiscard]] std::string_view name() const noexcept override { return "local"; }

    [[nodiscard]] sandbox::Availability availability() override;
    [[nodiscard]] std::vector<sandbox::Layer> limit_layers() override;

    sandbox::Availability can_make(const sandbox::MachineSpec& spec) override
    {
        return feasible(host(), spec, privileged_);
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    create(const sandbox::MachineSpec& spec) override;
    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    attach(const sandbox::MachineRecord& record) override;
    void destroy(const sandbox::MachineRecord& record, bool purge) override;
    void interrupt(const sandbox::MachineRecord& record) override;
    [[nodiscard]] bool is_gone(const sandbox::MachineRecord& record) override;

    [[nodiscard]] std::optional<protocol::Parting>
    parting(const sandbox::MachineRecord& record) override
    {
        return SessionFolder::parting(settings_.state_directory, record);
    }

    [[nodiscard]] std::string last_words(const sandbox::MachineRecord& record) override
    {
        return SessionFolder::last_words(settings_.state_directory, record);
    }

    [[nodiscard]] sandbox::ChangedLimits change_limits(const std::string& key_hash,
                                                       const sandbox::Limits& limits) override;
    void collect(const Deadline& deadline) override;

    void leave() noexcept override { spares_.close(); }

    [[nodiscard]] std::string find_home(const std::string& key_hash) override;
    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    adopt(const std::string& id, const sandbox::MachineSpec& spec) override;
    [[nodiscard]] std::string description() const override;

  private:
    const CgroupLayout& cgroups();
    const Host& host();
    [[nodiscard]] bool nothing_lives(const std::string& key_hash);
    Ahead expect(Expected wanted, bool first = false);
    void renew_spares() noexcept;
    [[nodiscard]] UidRange::Claim choose_uid(const std::string& key_hash);
    [[nodiscard]] LaunchSpec plan(const sandbox::MachineSpec& spec, CheckedMounts mounts,
                                  unsigned uid, const Names& names, const Ahead& ahead);
    [[nodiscard]] MachineFacts make(const sandbox::MachineSpec& spec, const std::string& id,
                                    const std::shared_ptr<Programs>& programs);
    [[nodiscard]] MachineFacts make(const sandbox::MachineSpec& spec, const std::string& id);

    const Settings settings_;
    const std::string no_own_uids_; ///< why sessions share the uid of the user who runs berth
    const bool privileged_ = no_own_uids_.empty();
    std::mutex mutex_;
    std::optional<CgroupLayout> cgroups_;               ///< guarded by mutex_, then immutable
    std::optional<Host> host_;                          ///< guarded by mutex_, then immutable
    std::optional<sandbox::Availability> availability_; ///< guarded by mutex_
    /// Guarded by mutex_; of the root that waits.
    std::optional<Expected> expected_;
    Ahead ahead_;                               ///< guarded by mutex_; of expected_
    BootClock::time_point looked_;              ///< guarded by mutex_; for availability_
    std::map<std::string, UniqueFd> lifetimes_; ///< guarded by mutex_; write ends
    SpareFolders spares_;
    Launchers launchers_; ///< last: its thread uses the others
};

/// Without a look at the state directory, which is not made before a session needs it.
const CgroupLayout& LocalBackend::cgroups()
{
    const std::lock_guard lock(mutex_);
    if (!cgroups_) {
        auto found = find_cgroups("", privileged_);
        prepare_delegated(found);
        cgroups_ = std::move(found);
    }
    return *cgroups_;
}

const Host& LocalBackend::host()
{
    (void)cgroups();
    const std::lock_guard lock(mutex_);
    if (!host_) {
        host_ = look_at_host(settings_, *cgroups_, privileged_);
    }
    return *host_;
}

/// Not even a machine that no record tells of.
bool LocalBackend::nothing_lives(const std::string& key_hash)
{
    if (!SessionFolder::is_name(key_hash)) {
        return false;
    }
    if (!sandbox::find_state_directory(settings_.state_directory)) {
        return true; // nothing was ever made
    }
    // Nor one of a server that has its sockets elsewhere: there would be two on the same home.
    return !listens_unrecorded(host(), key_hash) && !lives_unseen(host().state, key_hash);
}

/// Launchers wait with what the latest machine had: a server's are all alike. `first`: unless there
/// was a machine already.
Ahead LocalBackend::expect(Expected wanted, bool first)
{
    const std::lock_guard lock(mutex_);
    if (expected_ && (first || *expected_ == wanted)) {
        return ahead_;
    }
    ahead_ = make_ahead(wanted.programs->files, wanted, *cgroups_);
    ahead_.sockets = host_->runtime;
    if (privileged_) {
        launchers_.expect(ahead_);
    }
    expected_ = std::move(wanted);
    return ahead_;
}

/// Where the state directory is in use: none is made for it.
void LocalBackend::renew_spares() noexcept
{
    int state = -1;
    {
        const std::lock_guard lock(mutex_);
        state = host_ ? host_->state_fd.get() : -1;
    }
    if (state >= 0) {
        spares_.renew(state);
    }
}

sandbox::Availability LocalBackend::availability()
{
    {
        const std::lock_guard lock(mutex_);
        // What failed for want of processes, descriptors or time may work a moment later; yet not
        // every call shall pay for a look at what never works.
        if (availability_ &&
            (availability_->available || BootClock::now() - looked_ < settings_.look_again)) {
            return *availability_;
        }
    }
    sandbox::Availability found;
    try {
        if (sandbox::find_state_directory(settings_.state_directory)) {
            const auto programs = host().programs->find({}, {});
            if (privileged_) {
                (void)expect({sandbox::Network::none, {}, programs->covers.latest(), {}, programs},
                             true);
            }
        }
        (void)cgroups();
        const auto probe = privileged_ ? make_probe(true, settings_.uid_base, settings_.uid_base)
                                       : make_probe(false, ::geteuid(), ::getegid());
        const auto result = launchers_.launch(probe, {});
        found.available = result.ok;
        if (!result.ok) {
            const auto blocker = explain(result, "");
            found.reason = blocker.reason;
            found.remedy = blocker.remedy;
        }
    } catch (const Error& error) {
        found = {.available = false, .reason = error.what(), .remedy = error.hint()};
    } catch (const std::exception& error) {
        const auto blocker = explain(to_result(error, "server"), "");
        found = {.available = false, .reason = blocker.reason, .remedy = blocker.remedy};
    }
    const std::lock_guard lock(mutex_);
    availability_ = found;
    looked_ = BootClock::now();
    return found;
}

std::vector<sandbox::Layer> LocalBackend::limit_layers()
{
    try {
        const auto& layout = cgroups();
        return local::limit_layers(layout, layout.kills());
    } catch (const std::exception&) {
        return {}; // availability() says why there is no machine
    }
}

UidRange::Claim LocalBackend::choose_uid(const std::string& key_hash)
{
    if (!privileged_) {
        return {.uid = ::geteuid()};
    }
    return UidRange(host().state_fd.get(), settings_.uid_base, settings_.uid_count)
        .choose(key_hash);
}

LaunchSpec LocalBackend::plan(const sandbox::MachineSpec& spec, CheckedMounts mounts, unsigned uid,
                              const Names& names, const Ahead& ahead)
{
    const Host& here = host();
    sandbox::MachineSpec checked = spec;
    checked.mounts = std::move(mounts.mounts);
    return make_plan({.spec = checked,
                      .ahead = ahead,
                      .cgroups = here.cgroups,
                      .cgroup = names.slot.empty() ? names.id : names.slot,
                      .named_ahead = !names.slot.empty(),
                      .folder = SessionFolder::path_of(here.state, spec.key_hash),
                      .socket_path = socket_in(here.runtime, names.id),
                      .guest_program = settings_.guest_program,
                      .privileged = privileged_,
                      .host_uid = uid,
                      .host_gid = privileged_ ? uid : ::getegid(),
                      .opens_tls = opens_tls(spec),
                      .bundle = replaced_bundle(spec),
                      .sources = std::move(mounts.sources)});
}

MachineFacts LocalBackend::make(const sandbox::MachineSpec& spec, const std::string& id,
                                const std::shared_ptr<Programs>& programs)
{
    const Host& here = host();
    auto launcher = launchers_.reserve(); // first: it has something to look at meanwhile
    const auto begun = programs->covers.begin();
    const Ahead ahead =
        expect({spec.network, resolv_conf_for(spec.network), begun.covers, spec.limits, programs});
    const std::string slot = launcher.cgroup();
    const std::string socket = place_of_socket(here.runtime, id);
    // The user before the sessions': of no session and, as the whole range, of no account.
    const auto proxy = start_session_proxy(settings_.proxy_program, spec,
                                           privileged_ ? settings_.uid_base - 1 : nobody, socket,
                                           settings_.certificates);
    const auto certificates = trust_files(proxy.authority, settings_.certificates);
    // Both wait for as long as the file system of a mount does not answer.
    auto mounts =
        checked_mounts(spec.mounts, here.programs->own(), programs->files.binds, privileged_);
    // Before it is mounted: of what is replaced at this moment there is a notice too many.
    MachineFacts facts = facts_before(spec, here.state);
    auto uid = choose_uid(spec.key_hash); // others wait for its lock from here on: nothing slow
    const LaunchSpec launch = plan(spec, std::move(mounts), uid.uid, {id, slot}, ahead);
    facts.cgroups = session_cgroups(here.cgroups, launch.cgroup.name);
    Creation creation({.state = here.state,
                       .state_fd = here.state_fd.get(),
                       .id = id,
                       .folder = spec.key_hash,
                       .cgroups = facts.cgroups,
                       .privileged = privileged_},
                      std::move(uid), spares_.take(), spec.ends_with_server);
    const auto result = launchers_.launch(
        std::move(launcher), launch,
        {.lifetime = creation.lifetime(), .lock = spec.lock, .proxy = proxy.session.get()},
        [&] { return creation.make(launch, spec.generation, certificates); },
        // Nothing runs in a guest that nobody is connected to.
        [&] { programs->covers.require(begun); });
    require_launched(result, slot, spec.session);
    move_proxy(proxy, facts.cgroups);
    if (auto lifetime = creation.keep()) {
        const std::lock_guard lock(mutex_);
        lifetimes_.insert_or_assign(id, std::move(lifetime));
    }
    spares_.give_back(creation.take_spare());
    facts.made_home = creation.made_home();
    facts.note = creation.note();
    facts.socket_path = launch.socket_path;
    facts.pid = static_cast<pid_t>(result.pid);
    facts.start_time = result.start_time;
    facts.layers = layers_of(launch, result, here.cgroups, no_own_uids_, creation.quota_obstacle(),
                             spec.template_name);
    return facts;
}

MachineFacts LocalBackend::make(const sandbox::MachineSpec& spec, const std::string& id)
{
    constexpr int tries = 5; // a host that mounts all the time is not waited for
    const auto programs = host().programs->find(spec.template_name, spec.mounts);
    for (int i = 1;; ++i) {
        try {
            return make(spec, id, programs);
        } catch (const CoversChanged& changed) {
            if (i == tries) {
                throw unavailable(changed);
            }
        } catch (const SlotLost&) {
            if (i == tries) {
                throw;
            }
        }
    }
}

std::unique_ptr<sandbox::Machine> LocalBackend::create(const sandbox::MachineSpec& spec)
{
    if (!SessionFolder::is_name(spec.key_hash)) {
        throw Error(ErrorCode::invalid_argument, "the session's key hash is no folder name");
    }
    try {
        // Nor beside one that neither the books nor this namespace show.
        require_none_unseen(host().state, spec.key_hash);
        const std::string id = new_machine_id(host(), spec.key_hash, spec.generation);
        return make_machine(to_record(id, spec.generation, make(spec, id)));
    } catch (const Failure& failure) {
        throw unavailable(explain(to_result(failure), ""));
    } catch (const std::system_error& error) {
        throw unavailable(error);
    }
}

std::unique_ptr<sandbox::Machine> LocalBackend::attach(const sandbox::MachineRecord& record)
{
    return record.backend == name() ? attach_machine(settings_.state_directory, record) : nullptr;
}

void LocalBackend::destroy(const sandbox::MachineRecord& record, bool purge)
{
    const auto key_hash = record.data.find("key_hash");
    const bool recorded = !record.id.empty() || key_hash == record.data.end();
    const auto whole = recorded ? record : unrecorded_machine(host(), key_hash->second);
    if (!sandbox::find_state_directory(settings_.state_directory)) {
        return; // nothing was ever made
    }
    destroy_machine(whole, host().state, purge, privileged_);
    const std::lock_guard lock(mutex_);
    lifetimes_.erase(whole.id);
}

void LocalBackend::interrupt(const sandbox::MachineRecord& record)
{
    end_guest(unrecorded_machine(host(), record.data.at("key_hash")), host().state);
}

bool LocalBackend::is_gone(const sandbox::MachineRecord& record)
{
    if (const auto key_hash = record.data.find("key_hash");
        record.id.empty() && key_hash != record.data.end()) {
        return record.backend == name() && nothing_lives(key_hash->second);
    }
    const MachineFacts facts = facts_from(record);
    if (record.backend != name()) {
        return false;
    }
    // All: from inside of another pid namespace the process cannot be seen, its socket can, but not
    // where the mounts are others too.
    const bool seen = !is_of_copy(record, settings_.state_directory) &&
                      !(process_has_ended(facts.pid, facts.start_time, facts.boot) &&
                        (nobody_listens(facts.socket_path) ||
                         has_lost_its_name(facts, settings_.state_directory)));
    return !seen && !lives_unseen(settings_.state_directory, record);
}

sandbox::ChangedLimits LocalBackend::change_limits(const std::string& key_hash,
                                                   const sandbox::Limits& limits)
{
    if (!SessionFolder::is_name(key_hash)) {
        return {};
    }
    const Host& here = host();
    const auto cgroup =
        SessionFolder::cgroup(here.state, key_hash, present_id(here.state, key_hash));
    auto changed = change_cgroup_limits(session_cgroups(here.cgroups, cgroup), limits);
    changed.quota = privileged_ && change_home_limit(linux_projects(), here.state_fd.get(),
                                                     "sessions/" + key_hash, limits.quota);
    return changed;
}

void LocalBackend::collect(const Deadline& deadline)
{
    if (!sandbox::find_state_directory(settings_.state_directory)) {
        return; // nothing was ever made
    }
    remove_stale_sockets(host().runtime, host().cgroups, deadline);
    remove_abandoned_slots(host().cgroups, deadline);
    UidRange::clear_up(privileged_ ? host().state_fd.get() : -1);
    SpareFolder::clear_up(host().state_fd.get());
}

std::string LocalBackend::find_home(const std::string& key_hash)
{
    if (!SessionFolder::is_name(key_hash) ||
        !sandbox::find_state_directory(settings_.state_directory)) {
        return {};
    }
    return SessionFolder::find_home(host().state, key_hash);
}

/// A machine's cgroups, socket and folders have its key in their names: only the home goes over.
std::unique_ptr<sandbox::Machine> LocalBackend::adopt(const std::string& id,
                                                      const sandbox::MachineSpec& spec)
{
    if (!SessionFolder::is_name(id) || !SessionFolder::is_name(spec.key_hash)) {
        throw Error(ErrorCode::invalid_argument, "a session's key is no folder name");
    }
    const Host& here = host();
    const UidRange uids(here.state_fd.get(), settings_.uid_base, settings_.uid_count);
    move_home(here.state, id, spec.key_hash, privileged_ ? &uids : nullptr);
    return nullptr;
}

std::string LocalBackend::description() const
{
    return "Linux namespaces on this host, with the programs in /usr read-only, a home of its own "
           "in /home/user, one user without privileges, and a network only where session_info "
           "tells of one";
}

} // namespace

std::unique_ptr<sandbox::Backend> make_backend(Settings settings)
{
    return std::make_unique<LocalBackend>(std::move(settings));
}

} // namespace berth::local
