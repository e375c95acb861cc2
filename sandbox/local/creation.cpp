#include "sandbox/local/creation.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/cgroup_tree.hpp"
#include "sandbox/local/cgroup_v1.hpp"
#include "sandbox/local/destroy.hpp"
#include "sandbox/local/home_limit.hpp"
#include "sandbox/local/local_machine.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace berth::local {

Creation::Creation(Place place, UidRange::Claim uid, std::unique_ptr<SpareFolder> spare,
                   bool ends_with_server)
    : place_(std::move(place)), uid_(std::move(uid)), spare_(std::move(spare))
{
    if (ends_with_server) {
        Pipe pipe = make_pipe();
        lifetime_read_ = std::move(pipe.read);
        lifetime_write_ = std::move(pipe.write);
    }
}

Creation::~Creation()
{
    if (kept_) {
        return;
    }
    try {
        undo();
    } catch (const std::exception&) {
        // No memory, or another berth kept the lock of the uids: what is left, `sessions kill
        // --purge` or the next creation removes; a uid alone stays its key's.
        return;
    }
}

void Creation::undo()
{
    uid_.lock.reset(); // remove_home() takes it itself
    for (const auto& cgroup : place_.cgroups) {
        // Those of v1, and of a launcher that was killed before it could clear up, guest included.
        kill_cgroup(cgroup);
        remove_cgroup(cgroup, Deadline::after(std::chrono::seconds(2)));
        remove_abandoned(cgroup.substr(0, cgroup.rfind('/')));
    }
    if (folder_) {
        (void)folder_->remove_temporary(); // what stays, the next creation removes or names
        folder_->forget_generation();
        if (!had_home_) {
            (void)remove_home(*folder_, place_.folder, place_.state_fd, place_.privileged);
        }
    }
}

Handover Creation::make(const LaunchSpec& launch, const std::string& generation,
                        const std::vector<std::pair<std::string, std::string>>& certificates)
{
    folder_.emplace(place_.state, place_.folder, spare_.get());
    had_home_ = folder_->has_home();
    uid_.write(spare_.get());
    folder_->set_generation(generation, spare_.get());
    folder_->set_cgroup(launch.named_ahead ? launch.cgroup.name : "", place_.id, generation,
                        spare_.get());
    folder_->set_socket(launch.socket_path, spare_.get());
    folder_->prepare(launch.host_uid, launch.host_gid, spare_.get());
    if (!certificates.empty()) {
        folder_->add_certificates(certificates);
    }
    quota_obstacle_ = place_.privileged
                          ? limit_home(linux_projects(), folder_->fd(), launch.guest.quota)
                          : "only root may have the kernel limit a folder";
    auto handover =
        launch.named_ahead ? Handover() : make_v1_cgroups(launch.cgroup, V1Share::server);
    handover.parting = folder_->make_parting_note(spare_.get());
    note_ = file_id(handover.parting.get());
    handover.home_limited = quota_obstacle_.empty();
    return handover;
}

UniqueFd Creation::keep() noexcept
{
    kept_ = true;
    return std::move(lifetime_write_);
}

} // namespace berth::local
