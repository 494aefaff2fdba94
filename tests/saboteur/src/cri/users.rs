//! Different user ranges of the node for pods with their own user namespace.

use super::wire::Message;

/// Fields of the messages of the runtime's interface.
mod field {
    /// `RunPodSandboxRequest.config`
    pub(super) const SANDBOX: u32 = 1;
    /// `CreateContainerRequest.config`
    pub(super) const CONTAINER: u32 = 2;
    /// `CreateContainerRequest.sandbox_config`
    pub(super) const SANDBOX_OF_CONTAINER: u32 = 3;
    /// `PodSandboxConfig.linux`
    pub(super) const LINUX_OF_SANDBOX: u32 = 8;
    /// `ContainerConfig.linux`
    pub(super) const LINUX_OF_CONTAINER: u32 = 15;
    /// `security_context` of both
    pub(super) const SECURITY: u32 = 2;
    /// `LinuxSandboxSecurityContext.namespace_options`
    pub(super) const NAMESPACES_OF_SANDBOX: u32 = 1;
    /// `LinuxContainerSecurityContext.namespace_options`
    pub(super) const NAMESPACES_OF_CONTAINER: u32 = 3;
    /// `NamespaceOption.userns_options`
    pub(super) const USERS: u32 = 5;
    /// `UserNamespace.uids` and `gids`
    pub(super) const MAPS: [u32; 2] = [2, 3];
    /// `ContainerConfig.mounts`
    pub(super) const MOUNTS: u32 = 7;
    /// `Mount.uidMappings` and `gidMappings`
    pub(super) const MAPS_OF_MOUNT: [u32; 2] = [6, 7];
    /// `IDMapping.host_id`
    pub(super) const HOST_ID: u32 = 1;
}

/// Makes the user range of a sandbox or a container begin with this user of the node. Sandboxes and containers without
/// their own user namespace do not change.
pub(super) fn begin_with(request: &mut Message, first: u32) {
    if request.all_bytes(field::SANDBOX_OF_CONTAINER).next().is_none() {
        return request.change(field::SANDBOX, |config| of_sandbox(config, first));
    }
    request.change(field::CONTAINER, |config| {
        inside(config, field::LINUX_OF_CONTAINER, field::NAMESPACES_OF_CONTAINER, first);
        config.change_each(field::MOUNTS, |mount| {
            shift(mount, field::MAPS_OF_MOUNT, first);
            true
        });
    });
    request.change(field::SANDBOX_OF_CONTAINER, |config| of_sandbox(config, first));
}

fn of_sandbox(config: &mut Message, first: u32) {
    inside(config, field::LINUX_OF_SANDBOX, field::NAMESPACES_OF_SANDBOX, first);
}

fn inside(config: &mut Message, linux: u32, namespaces: u32, first: u32) {
    let options = config.message(linux).message(field::SECURITY).message(namespaces);
    if options.all_bytes(field::USERS).next().is_none() {
        return;
    }
    config.change(linux, |linux| {
        linux.change(field::SECURITY, |security| {
            security.change(namespaces, |options| {
                options.change(field::USERS, |users| shift(users, field::MAPS, first));
            });
        });
    });
}

fn shift(of: &mut Message, maps: [u32; 2], first: u32) {
    for map in maps {
        of.change_each(map, |mapping| {
            mapping.set_integer(field::HOST_ID, i64::from(first));
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapping of 65536 ids to those from 131072 on.
    fn mapping() -> Message {
        let mut mapping = Message::default();
        mapping.set_integer(1, 131_072);
        mapping.set_integer(3, 65_536);
        mapping
    }

    fn with_users(config: &mut Message, linux: u32, namespaces: u32) {
        config.change(linux, |linux| {
            linux.change(2, |security| {
                security.change(namespaces, |options| {
                    options.change(5, |users| {
                        users.push(2, mapping().encode());
                        users.push(3, mapping().encode());
                    });
                });
            });
        });
    }

    fn first(config: &Message, linux: u32, namespaces: u32) -> Vec<i64> {
        let users = config.message(linux).message(2).message(namespaces).message(5);
        [2, 3].map(|map| users.message(map).integer(1)).into()
    }

    #[test]
    fn the_users_of_a_sandbox_begin_elsewhere() {
        let mut request = Message::default();
        request.change(1, |config| with_users(config, 8, 1));
        begin_with(&mut request, 327_680);
        assert_eq!(first(&request.message(1), 8, 1), [327_680, 327_680]);
        assert_eq!(
            request.message(1).message(8).message(2).message(1).message(5).message(2).integer(3),
            65_536
        );
    }

    #[test]
    fn the_users_of_a_container_and_of_its_mounts_begin_elsewhere() {
        let mut request = Message::default();
        request.set_bytes(1, "sandbox");
        request.change(2, |config| {
            with_users(config, 15, 3);
            let mut mount = Message::default();
            mount.set_bytes(1, "/data");
            mount.push(6, mapping().encode());
            config.push(7, mount.encode());
        });
        request.change(3, |config| with_users(config, 8, 1));
        begin_with(&mut request, 327_680);
        assert_eq!(first(&request.message(2), 15, 3), [327_680, 327_680]);
        assert_eq!(first(&request.message(3), 8, 1), [327_680, 327_680]);
        assert_eq!(request.message(2).message(7).message(6).integer(1), 327_680);
        assert_eq!(request.text(1), "sandbox");
    }

    #[test]
    fn a_pod_with_the_users_of_its_node_keeps_them() {
        let mut request = Message::default();
        request.change(1, |config| config.set_bytes(2, "host"));
        let before = request.clone();
        begin_with(&mut request, 327_680);
        assert_eq!(request, before);
    }
}
