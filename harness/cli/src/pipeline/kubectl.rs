//! The program kubectl, for cases that drain nodes: given by a flag or an environment variable, or found on the PATH.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use probity_cluster::{Access, Kubectl};

use crate::exit_status::Failure;

/// The kubectl to use, if there is one. Fails if the user named a file that does not exist.
pub(crate) fn find(given: Option<&Path>, access: &Access) -> Result<Option<Kubectl>, Failure> {
    let found = match given.filter(|path| !path.as_os_str().is_empty()) {
        Some(path) if path.is_file() => Some(path.to_owned()),
        Some(path) => {
            let why = format!("--kubectl: there is no file {}", path.display());
            return Err(Failure::wrong_use(why));
        }
        None => std::env::var_os("PATH").and_then(|path| on_path(&path)),
    };
    Ok(found.map(|program| Kubectl {
        program,
        kubeconfig: access.kubeconfig.clone(),
        context: access.context.clone().filter(|_| !access.in_cluster),
    }))
}

fn on_path(path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join("kubectl")).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn one_that_is_named_must_exist() {
        let access = Access { context: Some("c".to_owned()), ..Access::default() };
        assert!(find(Some(Path::new("/no/such/kubectl")), &access).is_err());
        let program = std::env::current_exe().unwrap();
        let found = find(Some(&program), &access).unwrap().unwrap();
        assert_eq!((found.program, found.context.as_deref()), (program, Some("c")));
    }

    #[test]
    fn without_a_name_it_is_looked_for_on_the_path() {
        let folder = std::env::temp_dir().join(format!("probity-kubectl-{}", std::process::id()));
        assert_eq!(on_path(folder.as_os_str()), None);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("kubectl"), "").unwrap();
        assert_eq!(on_path(folder.as_os_str()), Some(folder.join("kubectl")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
