//! Indices that are kept in the folders of their texts.

use super::*;

fn kept(folders: &Folders) -> TreeOptions {
    TreeOptions { in_folder: true, ..folders.options() }
}

fn open(folders: &Folders, options: &TreeOptions, encoder: &Encoder) -> Tree {
    Tree::open(&[folders.texts.path()], options, encoder, &Silent).unwrap()
}

fn own_file(folders: &Folders, ending: &str) -> PathBuf {
    with_ending(&folders.path(".nanoembed"), ending).unwrap()
}

#[test]
fn it_is_found_by_all_searches_and_removed_with_its_folder() {
    let (folders, encoder) = (Folders::new(), encoder());
    assert_eq!(open(&folders, &kept(&folders), &encoder).embedded, 7);
    assert_eq!(fs::read_to_string(folders.path(".nanoembed/.gitignore")).unwrap(), "*\n");
    assert_eq!(folders.check(&encoder), 0);
    assert_eq!(folders.check_of(&folders.path("b"), &folders.options(), &encoder), 0);
    assert!(with_ending(&folders.store.path().join("search"), "index").is_none());
    folders.put("z.txt", "Snow falls on the hills.");
    let status = || index_status(&folders.path("b"), &folders.options(), &encoder).unwrap();
    assert_eq!((folders.check(&encoder), status().unwrap().files), (1, 4));
    let index = folders.texts.path().canonicalize().unwrap().join(".nanoembed");
    assert_eq!(status().unwrap().index.parent(), Some(&*index));
    // Its files are no texts, even if hidden ones are searched.
    let walk = Walk::default().hidden(true).no_ignore(true);
    let hidden = TreeOptions { walk, ..folders.options() };
    assert_eq!(open(&folders, &hidden, &encoder).files_read, 0);
    drop_index(&folders.path("b"), &folders.options(), &encoder).unwrap().unwrap();
    assert!(status().is_none() && !folders.path(".nanoembed").exists());
    // What others keep there stays.
    open(&folders, &kept(&folders), &encoder);
    fs::write(folders.path(".nanoembed/other"), "x").unwrap();
    drop_index(folders.texts.path(), &folders.options(), &encoder).unwrap().unwrap();
    assert!(folders.path(".nanoembed/other").exists());
}

#[test]
fn an_index_in_the_cache_moves_with_its_vectors() {
    let (folders, encoder) = (Folders::new(), encoder());
    folders.check(&encoder);
    folders.put("b/new.txt", "Snow falls on the hills.");
    let tree = open(&folders, &kept(&folders), &encoder);
    assert_eq!((tree.embedded, tree.files_read), (1, 1));
    assert!(with_ending(&folders.store.path().join("search"), "index").is_none());
    assert_eq!(folders.check(&encoder), 0);
    // A folder within has its own if it is asked for.
    let options = kept(&folders);
    let within = Tree::open(&[folders.path("b")], &options, &encoder, &Silent).unwrap();
    assert!(within.embedded > 0 && folders.path("b/.nanoembed").is_dir());
    assert_eq!(folders.check(&encoder), 0);
}

#[test]
fn one_that_somebody_else_made_is_not_used() {
    let (folders, others, encoder) = (Folders::new(), Folders::new(), encoder());
    // Made for this very folder, but with the key of another user.
    open(&folders, &kept(&others), &encoder);
    let foreign = fs::read(own_file(&folders, "index")).unwrap();
    assert!(index_status(folders.texts.path(), &folders.options(), &encoder).unwrap().is_none());
    assert_eq!(folders.check(&encoder), 7);
    assert!(folders.index().is_file());
    assert_eq!(fs::read(own_file(&folders, "index")).unwrap(), foreign);
    fs::remove_dir_all(folders.path(".nanoembed")).unwrap();
    // Nor under the name of one's own.
    open(&folders, &kept(&folders), &encoder);
    let own = own_file(&folders, "index");
    fs::write(&own, &foreign).unwrap();
    assert_eq!(folders.check(&encoder), 7);
    assert_ne!(fs::read(&own).unwrap(), foreign);
}

#[test]
fn a_damaged_key_is_made_again() {
    let (folders, encoder) = (Folders::new(), encoder());
    open(&folders, &kept(&folders), &encoder);
    let key = folders.store.path().join("search/key");
    for damaged in [&b""[..], b"short", &[0; 17]] {
        fs::write(&key, damaged).unwrap();
        assert_eq!(open(&folders, &kept(&folders), &encoder).embedded, 7);
        assert_eq!((fs::read(&key).unwrap().len(), folders.check(&encoder)), (16, 0));
    }
}

#[test]
fn it_is_an_error_if_it_cannot_be_in_its_folder() {
    let (folders, encoder) = (Folders::new(), encoder());
    fs::write(folders.path(".nanoembed"), "a file").unwrap();
    let paths = [folders.texts.path()];
    let error = Tree::open(&paths, &kept(&folders), &encoder, &Silent).unwrap_err();
    assert!(error.to_string().contains(".nanoembed is a link or a file"), "{error}");
    assert!(error.hint().unwrap().contains("--in-folder"));
    assert_eq!(folders.check(&encoder), 7);
}

#[cfg(unix)]
#[test]
fn nothing_is_read_or_written_through_links() {
    use std::os::unix::fs::symlink;
    let (folders, encoder) = (Folders::new(), encoder());
    let elsewhere = TempDir::new().unwrap();
    open(&folders, &kept(&folders), &encoder);
    // The folder.
    let own = folders.path(".nanoembed");
    let moved = elsewhere.path().join("moved");
    fs::rename(&own, &moved).unwrap();
    symlink(&moved, &own).unwrap();
    let before = fs::read(with_ending(&moved, "index").unwrap()).unwrap();
    assert_eq!(folders.check(&encoder), 7);
    folders.put("z.txt", "Snow falls on the hills.");
    assert_eq!(folders.check(&encoder), 1);
    let paths = [folders.texts.path()];
    assert!(Tree::open(&paths, &kept(&folders), &encoder, &Silent).is_err());
    assert_eq!(fs::read(with_ending(&moved, "index").unwrap()).unwrap(), before);
    // Files in it.
    fs::remove_file(&own).unwrap();
    open(&folders, &kept(&folders), &encoder);
    let victim = elsewhere.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let files = ["index", "journal"].map(|ending| own_file(&folders, ending));
    for path in &files {
        fs::remove_file(path).unwrap();
        symlink(&victim, path).unwrap();
    }
    fs::remove_file(folders.path(".nanoembed/.gitignore")).unwrap();
    symlink(&victim, folders.path(".nanoembed/.gitignore")).unwrap();
    assert_eq!(open(&folders, &kept(&folders), &encoder).embedded, 6);
    assert_eq!(folders.check(&encoder), 0);
    assert!(files.iter().all(|path| path.symlink_metadata().unwrap().is_file()));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}
